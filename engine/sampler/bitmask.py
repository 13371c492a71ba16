"""Applying token bitmasks to logits: a numba kernel on the CPU, torch elsewhere."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch

from engine.sampler.bitmask_kernel import apply_rows

BITS_PER_WORD: Final = 32


def bitmask_width(padded_vocab_size: int) -> int:
    """Words in one row."""
    return -(-padded_vocab_size // BITS_PER_WORD)


def apply_bitmask(logits: torch.Tensor, bitmask: torch.Tensor, rows: list[int]) -> None:
    """Set the logits of disallowed tokens to -inf, in place.

    Args:
        logits: float32, (num_seqs, padded_vocab_size), contiguous.
        bitmask: int32, (len(rows), ceil(padded_vocab_size / 32)), on the CPU; bit i of word j is
            token 32 * j + i, 1 where it is allowed.
        rows: the row of `logits` that each row of the bitmask belongs to.

    Raises:
        ValueError: the bitmask does not fit the logits.
    """
    if bitmask.shape != (len(rows), bitmask_width(logits.shape[1])):
        raise ValueError(
            f"bitmask {tuple(bitmask.shape)} does not fit logits {tuple(logits.shape)}"
        )
    if logits.device.type == "cpu":
        apply_rows(logits.numpy(), bitmask.numpy(), np.asarray(rows, np.int64))
    else:
        apply_bitmask_reference(logits, bitmask, rows)


def apply_bitmask_reference(logits: torch.Tensor, bitmask: torch.Tensor, rows: list[int]) -> None:
    """The same as `apply_bitmask`, in plain torch."""
    words = bitmask.to(logits.device, non_blocking=True)
    shifts = torch.arange(BITS_PER_WORD, device=logits.device, dtype=torch.int32)
    is_allowed = ((words[:, :, None] >> shifts) & 1).bool().flatten(1)[:, : logits.shape[1]]
    index = torch.tensor(rows, device=logits.device)
    logits[index] = logits[index].masked_fill(~is_allowed, -torch.inf)
