"""Numba kernels of drawing on the CPU: the likeliest token, and one draw a row, without a sort.

Tokens are put into narrow buckets by their likelihood. Top-k, top-p and min-p each keep the
beginning of the tokens sorted by it, so only the bucket in which the shortest of the three ends
needs to be sorted, and the one into which the random number falls. A row is computed alone, in one
order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Lets LLVM use vector registers; -inf and NaN keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}

_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)

_DEEPEST = np.float32(87)
"""A depth is how far a logit lies below the largest, over the temperature. exp(-depth) of more is
no normal float32; such a token is never drawn."""

_BUCKETS_PER_UNIT = 16
_NUM_BUCKETS = 87 * _BUCKETS_PER_UNIT

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
            token_ids[row] = _draw_filtered(
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
            x = -min(here[i], _DEEPEST)
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
            weight = weight if here[i] < _DEEPEST and weight >= least else np.float32(0)
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


@numba.njit(nogil=True, cache=True)
def _draw_filtered(
    depths: NDArray[np.float32],
    weights: NDArray[np.float32],
    total: float,
    top_k: int,
    top_p: float,
    min_p: float,
    uniform: float,
) -> int:
    """Top-k, then top-p of what is left, then min-p; the likeliest token always stays."""
    buckets = np.empty(weights.shape[0], np.int16)
    counts = np.zeros(_NUM_BUCKETS, np.int64)
    masses = np.zeros(_NUM_BUCKETS, np.float64)
    for token in range(weights.shape[0]):
        buckets[token] = -1
        if weights[token] > 0:
            bucket = int(depths[token] * _BUCKETS_PER_UNIT)
            buckets[token] = bucket
            counts[bucket] += 1
            masses[bucket] += weights[token]

    mass = total
    if top_k < counts.sum():
        mass = _mass_of_first(depths, weights, buckets, counts, masses, top_k)

    last_bucket, num_kept, kept_mass = _find_end(
        depths, weights, buckets, counts, masses, top_k, top_p * mass, min_p
    )
    target = uniform * kept_mass
    before = 0.0
    chosen = 0
    for bucket in range(last_bucket + 1):
        if counts[bucket] == 0 or (bucket < last_bucket and before + masses[bucket] <= target):
            before += masses[bucket]
            continue
        num_here = num_kept if bucket == last_bucket else counts[bucket]
        for token_id in _sorted_bucket(depths, buckets, bucket, counts[bucket])[:num_here]:
            chosen = int(token_id)
            before += weights[chosen]
            if before > target:
                return chosen
    return chosen


@numba.njit(nogil=True, cache=True)
def _find_end(
    depths: NDArray[np.float32],
    weights: NDArray[np.float32],
    buckets: NDArray[np.int16],
    counts: NDArray[np.int64],
    masses: NDArray[np.float64],
    top_k: int,
    max_mass: float,
    min_p: float,
) -> tuple[int, int, float]:
    """Where the kept tokens end.

    Args:
        depths: of all tokens, as the next two.
        weights: exp(-depth).
        buckets: -1 where the weight is 0.
        counts: of each bucket's tokens.
        masses: of each bucket's weights.
        top_k: tokens to keep at most.
        max_mass: a token is kept if those before it weigh less.
        min_p: a token is kept if it weighs at least as much.

    Returns:
        The last bucket of which tokens are kept, how many of it, and the weight of all.
    """
    last_bucket, num_kept, num_before, mass = 0, 0, 0, 0.0
    for bucket in range(_NUM_BUCKETS):
        if counts[bucket] == 0:
            continue
        lightest = math.exp(-(bucket + 2) / _BUCKETS_PER_UNIT)  # and a little less, for rounding
        if (
            num_before + counts[bucket] <= top_k
            and mass + masses[bucket] < max_mass
            and lightest >= min_p
        ):
            last_bucket, num_kept = bucket, counts[bucket]
            num_before += counts[bucket]
            mass += masses[bucket]
            continue
        in_order = _sorted_bucket(depths, buckets, bucket, counts[bucket])
        for num_here, token_id in enumerate(in_order, 1):
            weight = weights[token_id]
            # The likeliest stays whatever is asked.
            if num_before > 0 and (num_before >= top_k or mass >= max_mass or weight < min_p):
                return last_bucket, num_kept, mass
            num_before += 1
            mass += weight
            last_bucket, num_kept = bucket, num_here
    return last_bucket, num_kept, mass


@numba.njit(nogil=True, cache=True)
def _mass_of_first(
    depths: NDArray[np.float32],
    weights: NDArray[np.float32],
    buckets: NDArray[np.int16],
    counts: NDArray[np.int64],
    masses: NDArray[np.float64],
    num_tokens: int,
) -> float:
    """The weight of the likeliest `num_tokens` tokens; there are more."""
    num_before, mass = 0, 0.0
    for bucket in range(_NUM_BUCKETS):
        if num_before + counts[bucket] > num_tokens:
            ordered = _sorted_bucket(depths, buckets, bucket, counts[bucket])
            for token in ordered[: num_tokens - num_before]:
                mass += weights[token]
            return mass
        num_before += counts[bucket]
        mass += masses[bucket]
    return mass


@numba.njit(nogil=True, cache=True)
def _sorted_bucket(
    depths: NDArray[np.float32], buckets: NDArray[np.int16], bucket: int, count: int
) -> NDArray[np.int64]:
    """The tokens of one bucket, likeliest first, equal ones by their ids."""
    token_ids = np.empty(count, np.int64)
    num_found = 0
    for token in range(buckets.shape[0]):
        if buckets[token] == bucket:
            token_ids[num_found] = token
            num_found += 1
    return token_ids[np.argsort(depths[token_ids], kind="mergesort")]
