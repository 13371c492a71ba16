"""Triton kernels of paged decode attention: one query token a sequence, split over its keys.

Flash-decoding: each program attends one slice of the keys for all query heads that share a
key-value head, and a second kernel joins the slices by their maxima and sums. So a few long
sequences still fill the device.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["table_stride"])  # type: ignore[untyped-decorator]  # triton has no types
def attend_slices(  # type: ignore[no-untyped-def]  # triton.jit reads the arguments itself
    query, key_pool, value_pool, block_tables, seq_lens, partial, maxima, sums,
    scaling, softcap,
    query_stride, query_head_stride, key_stride, value_stride, table_stride,
    SLIDING_WINDOW: tl.constexpr, HAS_SOFTCAP: tl.constexpr,
    NUM_HEADS: tl.constexpr, NUM_KV_HEADS: tl.constexpr, GROUP_ROWS: tl.constexpr,
    KEY_SIZE: tl.constexpr, KEY_COLUMNS: tl.constexpr,
    VALUE_SIZE: tl.constexpr, VALUE_COLUMNS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr, TILE: tl.constexpr, NUM_SLICES: tl.constexpr,
):  # fmt: skip
    """Grid (num_seqs, NUM_KV_HEADS, NUM_SLICES).

    Writes, for each head and slice, the weighted sum of its values relative to the slice's largest
    score (`partial`, float32, (num_seqs, NUM_HEADS, NUM_SLICES, VALUE_SIZE)), that score in base 2
    (`maxima`) and the sum of the weights (`sums`); an empty slice has -inf and 0.

    query_stride and query_head_stride are in elements, as are key_stride and value_stride (from one
    slot of the pool to the next) and table_stride. GROUP_ROWS, KEY_COLUMNS and VALUE_COLUMNS are
    the group's heads and the sizes, rounded up to powers of two of at least 16.
    """
    sequence = tl.program_id(0)
    kv_head = tl.program_id(1)
    slice_id = tl.program_id(2)
    GROUP: tl.constexpr = NUM_HEADS // NUM_KV_HEADS

    length = tl.load(seq_lens + sequence)
    first = 0
    if SLIDING_WINDOW > 0:
        first = tl.maximum(length - SLIDING_WINDOW, 0)
    # Whole tiles a slice, so that no tile is computed twice.
    tiles = tl.cdiv(tl.cdiv(length - first, TILE), NUM_SLICES)
    begin = first + slice_id * tiles * TILE
    end = tl.minimum(begin + tiles * TILE, length)

    member = tl.arange(0, GROUP_ROWS)
    head = kv_head * GROUP + member
    is_member = member < GROUP
    key_column = tl.arange(0, KEY_COLUMNS)
    value_column = tl.arange(0, VALUE_COLUMNS)
    rows = tl.load(
        query + sequence * query_stride + head[:, None] * query_head_stride + key_column[None, :],
        mask=is_member[:, None] & (key_column < KEY_SIZE)[None, :],
        other=0.0,
    ).to(key_pool.dtype.element_ty)

    largest = tl.full((GROUP_ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((GROUP_ROWS,), tl.float32)
    weighted = tl.zeros((GROUP_ROWS, VALUE_COLUMNS), tl.float32)
    for tile_begin in range(begin, end, TILE):
        position = tile_begin + tl.arange(0, TILE)
        is_token = position < end
        block = tl.load(
            block_tables + sequence * table_stride + position // BLOCK_SIZE, mask=is_token, other=0
        )
        # 64 bits: pools of long contexts have more than 2**31 elements.
        slot = block.to(tl.int64) * BLOCK_SIZE + position % BLOCK_SIZE
        keys = tl.load(
            key_pool + slot[None, :] * key_stride + kv_head * KEY_SIZE + key_column[:, None],
            mask=is_token[None, :] & (key_column < KEY_SIZE)[:, None],
            other=0.0,
        )
        scores = tl.dot(rows, keys, input_precision="ieee") * scaling
        if HAS_SOFTCAP:
            # tanh(x) by exp, which never overflows for -|x|.
            capped = scores / softcap
            decay = tl.exp(-2.0 * tl.abs(capped))
            tanh = (1.0 - decay) / (1.0 + decay)
            scores = softcap * tl.where(capped < 0, -tanh, tanh)
        scores = tl.where(is_token[None, :], scores * 1.4426950408889634, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        shrink = tl.exp2(largest - new_largest)
        weights = tl.exp2(scores - new_largest[:, None])
        values = tl.load(
            value_pool + slot[:, None] * value_stride + kv_head * VALUE_SIZE
            + value_column[None, :],
            mask=is_token[:, None] & (value_column < VALUE_SIZE)[None, :],
            other=0.0,
        )  # fmt: skip
        total = total * shrink + tl.sum(weights, axis=1)
        weighted = weighted * shrink[:, None] + tl.dot(
            weights.to(values.dtype), values, input_precision="ieee"
        )
        largest = new_largest

    cell = (sequence * NUM_HEADS + head) * NUM_SLICES + slice_id
    tl.store(maxima + cell, largest, mask=is_member)
    tl.store(sums + cell, total, mask=is_member)
    tl.store(
        partial + cell[:, None] * VALUE_SIZE + value_column[None, :],
        weighted,
        mask=is_member[:, None] & (value_column < VALUE_SIZE)[None, :],
    )


@triton.jit  # type: ignore[untyped-decorator]  # triton has no types
def join_slices(  # type: ignore[no-untyped-def]  # triton.jit reads the arguments itself
    partial, maxima, sums, sinks, output,
    HAS_SINKS: tl.constexpr, NUM_HEADS: tl.constexpr,
    VALUE_SIZE: tl.constexpr, VALUE_COLUMNS: tl.constexpr,
    NUM_SLICES: tl.constexpr,
):  # fmt: skip
    """Grid (num_seqs, NUM_HEADS): from slices to `output`, (num_seqs, NUM_HEADS, VALUE_SIZE).

    A head's sink is one more weight, without a value.
    """
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    slice_id = tl.arange(0, NUM_SLICES)
    value_column = tl.arange(0, VALUE_COLUMNS)
    cell = (sequence * NUM_HEADS + head) * NUM_SLICES + slice_id

    largest_of = tl.load(maxima + cell)
    sum_of = tl.load(sums + cell)
    largest = tl.max(largest_of, axis=0)
    if HAS_SINKS:
        sink = tl.load(sinks + head).to(tl.float32) * 1.4426950408889634
        largest = tl.maximum(largest, sink)
    shrink = tl.exp2(largest_of - largest)
    total = tl.sum(sum_of * shrink, axis=0)
    if HAS_SINKS:
        total += tl.exp2(sink - largest)
    weighted = tl.load(
        partial + cell[:, None] * VALUE_SIZE + value_column[None, :],
        mask=(value_column < VALUE_SIZE)[None, :],
        other=0.0,
    )
    result = tl.sum(weighted * shrink[:, None], axis=0) / total
    tl.store(
        output + (sequence * NUM_HEADS + head) * VALUE_SIZE + value_column,
        result.to(output.dtype.element_ty),
        mask=value_column < VALUE_SIZE,
    )
