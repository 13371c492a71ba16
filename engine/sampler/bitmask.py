"""Applying token bitmasks to logits: a numba kernel on the CPU, torch elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numba
import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        _apply_on_cpu(logits.numpy(), bitmask.numpy(), np.asarray(rows, np.int64))
    else:
        apply_bitmask_reference(logits, bitmask, rows)


def apply_bitmask_reference(logits: torch.Tensor, bitmask: torch.Tensor, rows: list[int]) -> None:
    """The same as `apply_bitmask`, in plain torch."""
    words = bitmask.to(logits.device, non_blocking=True)
    shifts = torch.arange(BITS_PER_WORD, device=logits.device, dtype=torch.int32)
    is_allowed = ((words[:, :, None] >> shifts) & 1).bool().flatten(1)[:, : logits.shape[1]]
    index = torch.tensor(rows, device=logits.device)
    logits[index] = logits[index].masked_fill(~is_allowed, -torch.inf)


@numba.njit(nogil=True, cache=True)
def _apply_on_cpu(
    logits: NDArray[np.float32], bitmask: NDArray[np.int32], rows: NDArray[np.int64]
) -> None:
    vocab_size = logits.shape[1]
    for index in range(rows.shape[0]):
        row = logits[rows[index]]
        for word_index in range(bitmask.shape[1]):
            word = bitmask[index, word_index]
            if word == -1:
                continue
            begin = word_index * 32
            if word == 0:  # nearly all words of a narrow mask
                row[begin : begin + 32] = -np.inf
                continue
            for bit in range(min(32, vocab_size - begin)):
                if not (word >> bit) & 1:
                    row[begin + bit] = -np.inf
