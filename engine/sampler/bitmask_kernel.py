"""Numba kernel that applies token bitmasks on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def apply_rows(
    logits: NDArray[np.float32], bitmask: NDArray[np.int32], rows: NDArray[np.int64]
) -> None:
    """Set the logits of disallowed tokens to -inf, in place.

    Args:
        logits: (num_seqs, vocab_size), contiguous.
        bitmask: (len(rows), ceil(vocab_size / 32)); bit i of word j is token 32 * j + i.
        rows: the row of `logits` that each row of the bitmask belongs to.
    """
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
