"""Numba kernels of paged attention on the CPU: store the new tokens, then attend row by row.

Every query row is computed alone, in the same order of operations whatever else is in the batch,
so its result depends on its own sequence only: chunked or whole, alone or among others, bit by bit.
A NaN reaches the sampler, which ends that request alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from engine.kernels import kernel, vectorised_helper, vectorised_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LOG2_E = np.float32(1.4426950408889634)
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(-2.12194440e-4)


@kernel
def store_tokens(
    source: NDArray[np.float32], slot_mapping: NDArray[np.int64], pool: NDArray[np.float32]
) -> None:
    """Copy each token's keys or values into its slot.

    Args:
        source: (T, num_kv_heads, size).
        slot_mapping: (T,).
        pool: (num_slots, num_kv_heads, size), changed in place.
    """
    # A loop, because numba takes seconds to compile a slice assignment with its error messages.
    for token in range(source.shape[0]):
        slot = slot_mapping[token]
        for head in range(source.shape[1]):
            for i in range(source.shape[2]):
                pool[slot, head, i] = source[token, head, i]


@vectorised_kernel
def attend_rows(
    query: NDArray[np.float32],
    key_pool: NDArray[np.float32],
    value_pool: NDArray[np.float32],
    block_tables: NDArray[np.int32],
    row_sequence: NDArray[np.int32],
    row_length: NDArray[np.int32],
    first_row: int,
    last_row: int,
    scaling: np.float32,
    sliding_window: int,
    softcap: np.float32,
    sinks: NDArray[np.float32],
    output: NDArray[np.float32],
) -> None:
    """Attend the query rows first_row .. last_row.

    Args:
        query: (T, num_heads, key_size).
        key_pool: (num_blocks, block_size, num_kv_heads, key_size).
        value_pool: (num_blocks, block_size, num_kv_heads, value_size).
        block_tables: (n, max_blocks).
        row_sequence: (T,); the sequence of each row.
        row_length: (T,); how many tokens each row sees, itself included and the window ignored.
        first_row: the first row of this call's share.
        last_row: one past its last.
        scaling: factor of the scores.
        sliding_window: tokens a row sees at most; 0: no window.
        softcap: 0: none.
        sinks: (num_heads,), see `AttentionOptions`; (0,): none.
        output: (T, num_heads, value_size), overwritten at those rows.
    """
    num_kv_heads = key_pool.shape[2]
    group_size = query.shape[1] // num_kv_heads
    longest = 0
    for row in range(first_row, last_row):
        longest = max(longest, row_length[row])
    scores = np.empty(longest, np.float32)
    powers = np.empty(longest, np.int32)

    for row in range(first_row, last_row):
        blocks = block_tables[row_sequence[row]]
        end = row_length[row]
        begin = max(0, end - sliding_window) if sliding_window > 0 else 0
        for kv_head in range(num_kv_heads):
            for member in range(group_size):
                head_query = query[row, kv_head * group_size + member]
                weights = scores[: end - begin]
                _score_keys(head_query, key_pool, blocks, begin, kv_head, scaling, weights)
                if softcap > 0:
                    for i in range(end - begin):
                        weights[i] = softcap * math.tanh(weights[i] / softcap)
                head = kv_head * group_size + member
                sink = sinks[head] if len(sinks) else np.float32(-np.inf)
                _softmax(weights, powers[: end - begin], sink)
                result = output[row, kv_head * group_size + member]
                for i in range(result.shape[0]):
                    result[i] = 0
                _weigh_values(weights, value_pool, blocks, begin, kv_head, result)


@vectorised_helper
def _score_keys(
    head_query: NDArray[np.float32],
    key_pool: NDArray[np.float32],
    blocks: NDArray[np.int32],
    begin: int,
    kv_head: int,
    scaling: np.float32,
    scores: NDArray[np.float32],
) -> None:
    """Scores of the tokens from `begin` on; four at a time keep four sums in flight."""
    block_size = key_pool.shape[1]
    num_tokens = scores.shape[0]
    token = 0
    while token + 4 <= num_tokens:
        position = begin + token
        k0 = key_pool[blocks[position // block_size], position % block_size, kv_head]
        position += 1
        k1 = key_pool[blocks[position // block_size], position % block_size, kv_head]
        position += 1
        k2 = key_pool[blocks[position // block_size], position % block_size, kv_head]
        position += 1
        k3 = key_pool[blocks[position // block_size], position % block_size, kv_head]
        s0 = s1 = s2 = s3 = np.float32(0)
        for i in range(head_query.shape[0]):
            q = head_query[i]
            s0 += q * k0[i]
            s1 += q * k1[i]
            s2 += q * k2[i]
            s3 += q * k3[i]
        scores[token] = s0 * scaling
        scores[token + 1] = s1 * scaling
        scores[token + 2] = s2 * scaling
        scores[token + 3] = s3 * scaling
        token += 4
    while token < num_tokens:
        position = begin + token
        key = key_pool[blocks[position // block_size], position % block_size, kv_head]
        total = np.float32(0)
        for i in range(head_query.shape[0]):
            total += head_query[i] * key[i]
        scores[token] = total * scaling
        token += 1


@vectorised_helper
def _softmax(scores: NDArray[np.float32], powers: NDArray[np.int32], sink: np.float32) -> None:
    """Softmax in place; exp is a polynomial (Cephes' expf) so that LLVM can vectorise it.

    The sink takes part and is then forgotten; -inf: there is none.
    """
    largest = scores[0]
    for i in range(scores.shape[0]):
        largest = max(largest, scores[i])
    if sink > largest:
        largest = sink
    for i in range(scores.shape[0]):
        x = max(scores[i] - largest, np.float32(-87))
        power = np.float32(math.floor(x * _LOG2_E + np.float32(0.5)))
        x = x - power * _LN2_HIGH - power * _LN2_LOW
        y = np.float32(1.9875691500e-4)
        y = y * x + np.float32(1.3981999507e-3)
        y = y * x + np.float32(8.3334519073e-3)
        y = y * x + np.float32(4.1665795894e-2)
        y = y * x + np.float32(1.6666665459e-1)
        y = y * x + np.float32(5.0000001201e-1)
        scores[i] = y * x * x + x + np.float32(1)
        powers[i] = (np.int32(power) + np.int32(127)) << np.int32(23)
    two_to_power = powers.view(np.float32)
    total = np.float32(math.exp(sink - largest))
    for i in range(scores.shape[0]):
        scores[i] *= two_to_power[i]
        total += scores[i]
    for i in range(scores.shape[0]):
        scores[i] /= total


@vectorised_helper
def _weigh_values(
    weights: NDArray[np.float32],
    value_pool: NDArray[np.float32],
    blocks: NDArray[np.int32],
    begin: int,
    kv_head: int,
    result: NDArray[np.float32],
) -> None:
    """Add the weighted values to `result`, four tokens at a time to spare loads and stores."""
    block_size = value_pool.shape[1]
    num_tokens = weights.shape[0]
    token = 0
    while token + 4 <= num_tokens:
        position = begin + token
        w0, w1, w2, w3 = weights[token], weights[token + 1], weights[token + 2], weights[token + 3]
        v0 = value_pool[blocks[position // block_size], position % block_size, kv_head]
        position += 1
        v1 = value_pool[blocks[position // block_size], position % block_size, kv_head]
        position += 1
        v2 = value_pool[blocks[position // block_size], position % block_size, kv_head]
        position += 1
        v3 = value_pool[blocks[position // block_size], position % block_size, kv_head]
        for i in range(result.shape[0]):
            result[i] += w0 * v0[i] + w1 * v1[i] + w2 * v2[i] + w3 * v3[i]
        token += 4
    while token < num_tokens:
        position = begin + token
        value = value_pool[blocks[position // block_size], position % block_size, kv_head]
        for i in range(result.shape[0]):
            result[i] += weights[token] * value[i]
        token += 1
