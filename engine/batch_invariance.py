"""Batch invariance on the CPU: how many rows a step needs so that a row's result is its own.

Matrix kernels choose their order of summation by the number of rows, so a sequence alone and in a
batch can differ in the last bits, and greedy decoding then in a token. Measured on AVX2 with torch
2.13: MKL's float32 product differs below 4 rows a thread and is the same from there on; oneDNN's
packed product is the same for every number of rows. Which holds here is found out by trying.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engine.step_batch import TokenSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ROW_MULTIPLES = (1, 4, 8, 16, 32)

MAX_PROBE_SEQS = 31

_PROBE_BATCHES = (1, 2, 3, 7, 17)
"""Numbers of sequences; odd ones leave a remainder for every kernel that works in tiles."""


def find_row_multiple(run: Callable[[Sequence[TokenSpan], int], torch.Tensor]) -> int | None:
    """The least multiple to which rows must be padded, None if none makes batches invariant.

    Args:
        run: runs spans with a given row multiple, like `ModelRunner.run`; needs
            MAX_PROBE_SEQS blocks, ids from 1.
    """
    return next((multiple for multiple in _ROW_MULTIPLES if _is_invariant(run, multiple)), None)


def _is_invariant(
    run: Callable[[Sequence[TokenSpan], int], torch.Tensor], row_multiple: int
) -> bool:
    """Whether one-token sequences give the same logits, bit by bit, in batches of all sizes."""
    spans = [
        TokenSpan(token_ids=[index], start=0, block_ids=[index + 1], num_logits=1)
        for index in range(MAX_PROBE_SEQS)
    ]
    whole = run(spans, row_multiple)
    return all(
        torch.equal(run(spans[-size:], row_multiple), whole[-size:]) for size in _PROBE_BATCHES
    )
