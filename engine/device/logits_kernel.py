"""Triton kernel of `shape_logits`: one pass over the logits adds biases and applies masks."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]  # triton has no types
def shape_rows(  # type: ignore[no-untyped-def]  # triton.jit reads the arguments itself
    logits, mask_rows, row_ids, begins, token_ids, values,
    vocab_size, logits_stride, mask_stride,
    HAS_ADJUSTMENTS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Grid (num_rows, ceil(vocab_size / BLOCK)); see `shape_logits_reference`.

    A block looks only at its own adjustments: it finds the first by bisection.
    """
    row = tl.program_id(0).to(tl.int64)
    block_begin = tl.program_id(1) * BLOCK
    token = block_begin + tl.arange(0, BLOCK)
    is_token = token < vocab_size
    place = logits + row * logits_stride + token
    x = tl.load(place, mask=is_token, other=0.0).to(tl.float32)
    if HAS_ADJUSTMENTS:
        index = tl.load(begins + row)
        end = tl.load(begins + row + 1)
        high = end
        while index < high:
            middle = (index + high) // 2
            is_before = tl.load(token_ids + middle) < block_begin
            index = tl.where(is_before, middle + 1, index)
            high = tl.where(is_before, high, middle)
        block_end = block_begin + BLOCK
        adjusted = tl.load(token_ids + index, mask=index < end, other=block_end)
        while adjusted < block_end:
            x = tl.where(token == adjusted, x + tl.load(values + index), x)
            index += 1
            adjusted = tl.load(token_ids + index, mask=index < end, other=block_end)
    row_id = tl.load(row_ids + row).to(tl.int64)
    word = tl.load(mask_rows + row_id * mask_stride + token // 32, mask=is_token, other=0)
    x = tl.where(((word >> (token % 32)) & 1) != 0, x, float("-inf"))
    tl.store(place, x.to(logits.dtype.element_ty), mask=is_token)
