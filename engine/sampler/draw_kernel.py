"""Numba kernel that draws a token for each row on the CPU, without sorting the vocabulary.

Top-k, top-p and min-p each keep the beginning of the tokens sorted by likelihood. Tokens are put
into narrow buckets by it, and only those buckets are sorted in which one of the three ends or into
which the random number falls. A row is computed alone, in one order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from engine.kernels import helper, kernel, vectorised_helper

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DEEPEST = np.float32(87)
"""A depth is how far a logit lies below the largest, over the temperature. exp(-depth) of more is
no normal float32; such a token is never drawn."""

_BUCKETS_PER_UNIT = 16
_NUM_BUCKETS = 87 * _BUCKETS_PER_UNIT
_BLOCK = 256

_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)


@kernel
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
    """Draw one token for each row: from top-k, then top-p of what is left, then min-p.

    The likeliest token always stays.

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
    depth_bits = np.empty(vocab_size, np.int32)
    depths = depth_bits.view(np.float32)
    weights = np.empty(vocab_size, np.float32)
    powers = np.empty(_BLOCK, np.int32)
    scales = powers.view(np.float32)
    sums = np.empty(-(-vocab_size // _BLOCK), np.float64)
    buckets = np.empty(vocab_size, np.int16)
    counts = np.empty(_NUM_BUCKETS, np.int32)
    masses = np.empty(_NUM_BUCKETS, np.float64)
    keys = np.empty(vocab_size, np.int64)
    for row in range(logits.shape[0]):
        if not math.isfinite(largest[row]):
            continue
        is_filtered = top_p[row] < 1 or top_k[row] < vocab_size
        least = np.float32(0) if is_filtered else min_p[row]
        _weigh(
            logits[row],
            largest[row],
            temperature[row],
            least,
            depths,
            weights,
            powers,
            scales,
            sums,
        )
        mass = 0.0
        for block in range(sums.shape[0]):
            mass += sums[block]
        if not is_filtered:
            token_ids[row] = _invert(weights, sums, uniform[row] * mass)
            continue
        num_possible = _fill_buckets(depths, weights, buckets, counts, masses)
        most, limit, ends_at_limit = top_k[row], np.inf, False
        least = np.float32(0)
        # The mass of the first k; where it ends under top-p and min-p; where the number falls.
        for turn in range(0 if most < num_possible else 1, 3):
            if turn == 1:
                limit, ends_at_limit, least = top_p[row] * mass, True, min_p[row]
            elif turn == 2:
                limit, ends_at_limit, least = uniform[row] * mass, False, np.float32(0)
            most, mass, token_ids[row] = _take(
                depth_bits,
                weights,
                buckets,
                counts,
                masses,
                keys,
                most,
                limit,
                ends_at_limit,
                least,
            )


@vectorised_helper
def _weigh(
    logits: NDArray[np.float32],
    largest: np.float32,
    temperature: np.float32,
    least: np.float32,
    depths: NDArray[np.float32],
    weights: NDArray[np.float32],
    powers: NDArray[np.int32],
    scales: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> None:
    """exp(-depth) of each token, 0 where it is below `least`, and the sums of blocks of tokens.

    `powers` and `scales` are the same (_BLOCK,) bits.
    """
    for block in range(sums.shape[0]):
        begin = block * _BLOCK
        size = min(_BLOCK, logits.shape[0] - begin)
        # Cephes' expf, in a form that LLVM vectorises.
        for i in range(size):
            depth = (largest - logits[begin + i]) / temperature
            depths[begin + i] = depth
            x = -min(depth, _DEEPEST)
            power = np.float32(math.floor(x * _LOG2_E + np.float32(0.5)))
            x = x - power * _LN2_HIGH - power * _LN2_LOW
            y = np.float32(1.9875691500e-4)
            y = y * x + np.float32(1.3981999507e-3)
            y = y * x + np.float32(8.3334519073e-3)
            y = y * x + np.float32(4.1665795894e-2)
            y = y * x + np.float32(1.6666665459e-1)
            y = y * x + np.float32(5.0000001201e-1)
            weights[begin + i] = y * x * x + x + np.float32(1)
            powers[i] = (np.int32(power) + np.int32(127)) << np.int32(23)
        total = np.float32(0)
        for i in range(size):
            weight = weights[begin + i] * scales[i]
            is_kept = depths[begin + i] < _DEEPEST and weight >= least
            weight = weight if is_kept else np.float32(0)
            weights[begin + i] = weight
            total += weight
        sums[block] = total


@helper
def _invert(weights: NDArray[np.float32], sums: NDArray[np.float64], target: float) -> int:
    """The token at which the running sum, in the order of ids, passes `target`."""
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


@helper
def _fill_buckets(
    depths: NDArray[np.float32],
    weights: NDArray[np.float32],
    buckets: NDArray[np.int16],
    counts: NDArray[np.int32],
    masses: NDArray[np.float64],
) -> int:
    """The bucket of each token (-1 where the weight is 0), how many and how much each bucket has.

    Returns:
        How many tokens are in buckets.
    """
    for bucket in range(_NUM_BUCKETS):
        counts[bucket] = 0
        masses[bucket] = 0
    num_possible = 0
    for token in range(weights.shape[0]):
        buckets[token] = -1
        if weights[token] > 0:
            bucket = int(depths[token] * _BUCKETS_PER_UNIT)
            buckets[token] = bucket
            counts[bucket] += 1
            masses[bucket] += weights[token]
            num_possible += 1
    return num_possible


@helper
def _take(
    depth_bits: NDArray[np.int32],
    weights: NDArray[np.float32],
    buckets: NDArray[np.int16],
    counts: NDArray[np.int32],
    masses: NDArray[np.float64],
    keys: NDArray[np.int64],
    most: int,
    limit: float,
    ends_at_limit: bool,
    least: np.float32,
) -> tuple[int, float, int]:
    """Take tokens, likeliest first, until one is too many.

    Args:
        depth_bits: depths of all tokens, as bits.
        weights: exp(-depth) of all tokens.
        buckets: see `_fill_buckets`, as the next two.
        counts: of tokens in each bucket.
        masses: weights of the buckets.
        keys: (vocab_size,), overwritten.
        most: how many are taken at most.
        limit: none is taken after more weight than this.
        ends_at_limit: nor after just as much.
        least: none that weighs less is taken, but for the first.

    Returns:
        How many were taken, at least one, and their weight; if it is `most`, or if one was left
        because of the limit, also the last of them.
    """
    num_taken, mass, token = 0, 0.0, 0
    for bucket in range(_NUM_BUCKETS):
        count = counts[bucket]
        if count == 0:
            continue
        lightest = math.exp(-(bucket + 2) / _BUCKETS_PER_UNIT)  # and a little less, for rounding
        if num_taken + count < most and mass + masses[bucket] < limit and lightest >= least:
            num_taken += count
            mass += masses[bucket]
            continue
        _sort_bucket(depth_bits, buckets, bucket, keys)
        for i in range(count):
            following = keys[i] & 0xFFFFFFFF
            weight = weights[following]
            is_past = mass > limit or (ends_at_limit and mass == limit)
            # The likeliest stays whatever is asked.
            if num_taken > 0 and (num_taken >= most or is_past or weight < least):
                return num_taken, mass, token
            num_taken += 1
            mass += weight
            token = following
    return num_taken, mass, token


@helper
def _sort_bucket(
    depth_bits: NDArray[np.int32], buckets: NDArray[np.int16], bucket: int, keys: NDArray[np.int64]
) -> None:
    """Fill the beginning of `keys` with the tokens of a bucket, likeliest first, then by ids.

    A key is a depth and a token. The bits of floats that are not negative order them; the sign is
    masked, since a depth of 0 may have one.
    """
    size = 0
    for token in range(buckets.shape[0]):
        if buckets[token] == bucket:
            keys[size] = np.int64(depth_bits[token] & 0x7FFFFFFF) << 32 | token
            size += 1
    gap = 1  # Shell sort
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            key = keys[i]
            k = i
            while k >= gap and keys[k - gap] > key:
                keys[k] = keys[k - gap]
                k -= gap
            keys[k] = key
        gap //= 3
