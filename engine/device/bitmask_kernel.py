"""Numba kernel that applies token bitmasks on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def apply_rows(
    logits: NDArray[np.float32], mask_rows: NDArray[np.int32], row_ids: NDArray[np.int32]
) -> None:
    """Set the logits of disallowed tokens to -inf, in place.

    Args:
        logits: (num_seqs, vocab_size), contiguous.
        mask_rows: (num_masks, at least ceil(vocab_size / 32)); bit i of word j is token 32 * j + i.
        row_ids: (num_seqs,); the row of `mask_rows` that each row of the logits is under.
    """
    vocab_size = logits.shape[1]
    for index in range(row_ids.shape[0]):
        row = logits[index]
        mask = mask_rows[row_ids[index]]
        for word_index in range((vocab_size + 31) // 32):
            word = mask[word_index]
            if word == -1:
                continue
            begin = word_index * 32
            if word == 0:  # nearly all words of a narrow mask
                row[begin : begin + 32] = -np.inf
                continue
            for bit in range(min(32, vocab_size - begin)):
                if not (word >> bit) & 1:
                    row[begin + bit] = -np.inf
