"""Numba kernels of drawing on the CPU: the likeliest token, and one draw a row, without a sort.

A row is computed alone, in one order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numba
import numpy as np

from engine.sampler.filtered_kernel import DEEPEST, draw_filtered

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Lets LLVM use vector registers; -inf and NaN keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}

_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)

_LANES = 16
_BLOCK = 256


@numba.njit(nogil=True, cache=True)
def find_largest(
    logits: NDArray[np.float32], largest: NDArray[np.float32], token_ids: NDArray[np.int64]
) -> None:
    """The largest logit of each row and its first place; NaN, and any place, where there is one.

    Args:
        logits: (num_rows, vocab_size).
        largest: (num_rows,), overwritten.
        token_ids: (num_rows,), overwritten.
    """
    lanes = np.empty(_LANES, np.float32)
    num_nans = np.empty(_LANES, np.int32)
    for row in range(logits.shape[0]):
        values = logits[row]
        lanes[:] = -np.inf
        num_nans[:] = 0
        whole = values.shape[0] // _LANES * _LANES
        for begin in range(0, whole, _LANES):
            for lane in range(_LANES):
                value = values[begin + lane]
                # max() asks for NaN as well, and LLVM does not vectorise that.
                lanes[lane] = value if value > lanes[lane] else lanes[lane]  # noqa: FURB136
                num_nans[lane] += np.int32(value != value)
        best = lanes.max()
        has_nan = num_nans.sum() > 0
        for token in range(whole, values.shape[0]):
            best = max(best, values[token])
            has_nan |= values[token] != values[token]
        largest[row] = np.nan if has_nan else best
        token_ids[row] = 0
        for token in range(values.shape[0]):
            if values[token] == best:
                token_ids[row] = token
                break


@numba.njit(nogil=True, cache=True)
def draw_rows(
    logits: NDArray[np.float32],
    largest: NDArray[np.float32],
    temperature: NDArray[np.float32],
    top_k: NDArray[np.int64],
    top_p: NDArray[np.float64],
    min_p: NDArray[np.float32],
    uniform: NDArray[np.float64],
    token_ids: NDArray[np.int64],
) -> None:
    """Draw one token for each row.

    Args:
        logits: (num_rows, vocab_size).
        largest: (num_rows,), the largest logit of each row; a row where it is not finite is left
            out.
        temperature: (num_rows,), above 0.
        top_k: (num_rows,), vocab_size where it is off.
        top_p: (num_rows,), 1 where it is off.
        min_p: (num_rows,), 0 where it is off.
        uniform: (num_rows,), random numbers in [0, 1).
        token_ids: (num_rows,), overwritten.
    """
    vocab_size = logits.shape[1]
    weights = np.empty(vocab_size, np.float32)
    powers = np.empty(_BLOCK, np.int32)
    sums = np.empty(-(-vocab_size // _BLOCK), np.float64)
    for row in range(logits.shape[0]):
        if not math.isfinite(largest[row]):
            continue
        depths = (largest[row] - logits[row]) / temperature[row]
        is_filtered = top_p[row] < 1 or top_k[row] < vocab_size
        _weigh(depths, np.float32(0) if is_filtered else min_p[row], weights, powers, sums)
        if is_filtered:
            token_ids[row] = draw_filtered(
                depths, weights, sums.sum(), top_k[row], top_p[row], min_p[row], uniform[row]
            )
        else:
            token_ids[row] = _invert(weights, sums, uniform[row])


@numba.njit(nogil=True, cache=True, fastmath=_FASTMATH)
def _weigh(
    depths: NDArray[np.float32],
    least: np.float32,
    weights: NDArray[np.float32],
    powers: NDArray[np.int32],
    sums: NDArray[np.float64],
) -> None:
    """exp(-depth) of each token, 0 where it is below `least`, and the sums of blocks of tokens."""
    scales = powers.view(np.float32)
    for block in range(sums.shape[0]):
        here = depths[block * _BLOCK : (block + 1) * _BLOCK]
        result = weights[block * _BLOCK : (block + 1) * _BLOCK]
        # Cephes' expf, in a form that LLVM vectorises.
        for i in range(here.shape[0]):
            x = -min(here[i], DEEPEST)
            power = np.float32(math.floor(x * _LOG2_E + np.float32(0.5)))
            x = x - power * _LN2_HIGH - power * _LN2_LOW
            y = np.float32(1.9875691500e-4)
            y = y * x + np.float32(1.3981999507e-3)
            y = y * x + np.float32(8.3334519073e-3)
            y = y * x + np.float32(4.1665795894e-2)
            y = y * x + np.float32(1.6666665459e-1)
            y = y * x + np.float32(5.0000001201e-1)
            result[i] = y * x * x + x + np.float32(1)
            powers[i] = (np.int32(power) + np.int32(127)) << np.int32(23)
        total = np.float32(0)
        for i in range(here.shape[0]):
            weight = result[i] * scales[i]
            weight = weight if here[i] < DEEPEST and weight >= least else np.float32(0)
            result[i] = weight
            total += weight
        sums[block] = total


@numba.njit(nogil=True, cache=True)
def _invert(weights: NDArray[np.float32], sums: NDArray[np.float64], uniform: float) -> int:
    """The token at which the running sum, in the order of ids, passes `uniform` of the whole."""
    target = uniform * sums.sum()
    before = 0.0
    chosen = 0
    for block in range(sums.shape[0]):
        if sums[block] > 0:
            chosen = block
            if before + sums[block] > target:
                break
            before += sums[block]
    # Where rounding leaves the target behind its block, the last possible token there is taken.
    token_id = chosen * _BLOCK
    for token in range(chosen * _BLOCK, min((chosen + 1) * _BLOCK, weights.shape[0])):
        if weights[token] > 0:
            token_id = token
            before += weights[token]
            if before > target:
                break
    return token_id
