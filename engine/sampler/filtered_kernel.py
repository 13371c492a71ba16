"""Numba kernel of a draw under top-k, top-p and min-p, without sorting the vocabulary.

Tokens are put into narrow buckets by their likelihood. Top-k, top-p and min-p each keep the
beginning of the tokens sorted by it, so only the bucket in which the shortest of the three ends
needs to be sorted, and the one into which the random number falls.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEEPEST = np.float32(87)
"""A depth is how far a logit lies below the largest, over the temperature. exp(-depth) of more is
no normal float32; such a token is never drawn."""

_BUCKETS_PER_UNIT = 16
_NUM_BUCKETS = 87 * _BUCKETS_PER_UNIT


@numba.njit(nogil=True, cache=True)
def draw_filtered(
    depths: NDArray[np.float32],
    weights: NDArray[np.float32],
    total: float,
    top_k: int,
    top_p: float,
    min_p: float,
    uniform: float,
) -> int:
    """Draw from top-k, then top-p of what is left, then min-p; the likeliest token always stays.

    Args:
        depths: (vocab_size,).
        weights: (vocab_size,), exp(-depth), 0 where the depth is `DEEPEST` or more.
        total: sum of the weights.
        top_k: tokens to keep at most.
        top_p: share of the weight to keep.
        min_p: least weight to keep.
        uniform: a random number in [0, 1).
    """
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
