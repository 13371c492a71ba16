"""Triton kernel of `advance_states`: where each sequence's automaton goes with its token."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def advance_rows(  # type: ignore[no-untyped-def]  # triton.jit reads the arguments itself
    states, token_ids, mask_rows, row_of_state, default_next,
    exception_begin, exception_tokens, exception_next, next_states, is_rejected,
    mask_stride,
):  # fmt: skip
    """Grid (num_seqs,); see `advance_states_reference`. Bisects the state's exceptions."""
    sequence = tl.program_id(0)
    state = tl.load(states + sequence)
    token = tl.load(token_ids + sequence).to(tl.int32)
    row = tl.load(row_of_state + state).to(tl.int64)
    word = tl.load(mask_rows + row * mask_stride + token // 32)
    is_allowed = ((word >> (token % 32)) & 1) != 0

    low = tl.load(exception_begin + state)
    end = tl.load(exception_begin + state + 1)
    high = end
    while low < high:
        middle = (low + high) // 2
        is_before = tl.load(exception_tokens + middle) < token
        low = tl.where(is_before, middle + 1, low)
        high = tl.where(is_before, high, middle)
    is_exception = tl.load(exception_tokens + low, mask=low < end, other=-1) == token
    usual = tl.load(default_next + state)
    after = tl.where(is_exception, tl.load(exception_next + low, mask=low < end, other=0), usual)
    tl.store(next_states + sequence, tl.where(is_allowed, after, state))
    tl.store(is_rejected + sequence, is_allowed == 0)
