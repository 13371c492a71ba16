"""MaskBuffer: bitmasks of a step's constrained sequences, filled while the forward pass runs."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import torch

from engine.ending import avoided_token_ids
from engine.errors import failure_sentence
from engine.sampler.bitmask import BITS_PER_WORD, bitmask_width

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from engine.constraint import Constraint
    from engine.sequence import Sequence as LiveSequence

logger = logging.getLogger(__name__)


class MaskBuffer:
    """One preallocated row for each running sequence.

    A mask depends only on the tokens accepted so far, so it is made in a thread of its own while
    the model runs; the kernels of both sides release the interpreter lock.

    Args:
        max_num_seqs: rows.
        padded_vocab_size: tokens of a row.
        pin_memory: page-locked memory, for asynchronous copies to a CUDA device.
    """

    def __init__(self, max_num_seqs: int, padded_vocab_size: int, *, pin_memory: bool) -> None:
        width = bitmask_width(padded_vocab_size)
        self._bitmask = torch.zeros((max_num_seqs, width), dtype=torch.int32, pin_memory=pin_memory)
        self._rows: NDArray[np.int32] = self._bitmask.numpy()
        self._executor = ThreadPoolExecutor(1, "tightrope-masks")

    def start_fill(self, sequences: Sequence[LiveSequence]) -> Future[list[str | None]]:
        """Fill row i for the constraint of `sequences[i]` in the background.

        No copy of the rows to a device may be under way: sampling a step waits for its own.

        Returns:
            For each row None, or the sentence that says why it has no mask; what such a row holds
            is undefined.
        """
        if not sequences:
            done: Future[list[str | None]] = Future()
            done.set_result([])
            return done
        return self._executor.submit(self._fill, sequences)

    def get_rows(self, num_rows: int) -> torch.Tensor:
        """The first rows, (num_rows, width); a view, valid until the next `start_fill`."""
        return self._bitmask[:num_rows]

    def _fill(self, sequences: Sequence[LiveSequence]) -> list[str | None]:
        return [
            _fill_isolated(row, sequence)
            for row, sequence in zip(self._rows, sequences, strict=False)
        ]

    def close(self) -> None:
        """End the thread."""
        self._executor.shutdown(wait=True)


def _fill_isolated(row: NDArray[np.int32], sequence: LiveSequence) -> str | None:
    """Fill one row; whatever its constraint does, the other rows are filled."""
    constraint = sequence.request.constraint
    assert constraint is not None, "only constrained sequences have masks"
    try:
        fill_row(row, constraint, avoided_token_ids(sequence))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust backends are BaseExceptions
        logger.exception("a constraint failed to fill its mask")
        return failure_sentence("making the constraint's mask", error)
    return None if row.any() else "the constraint allows no token here"


def fill_row(row: NDArray[np.int32], constraint: Constraint, avoided: Collection[int]) -> None:
    """The constraint's mask without the avoided tokens, unless nothing else is allowed.

    Args:
        row: int32, (width,), overwritten.
        constraint: gives the mask.
        avoided: token ids to keep out: the constraint wins where it allows only these.
    """
    constraint.fill_bitmask(row)
    if not avoided:
        return
    narrowed = row.copy()
    words = narrowed.view(np.uint32)
    for token_id in avoided:
        words[token_id // BITS_PER_WORD] &= ~np.uint32(1 << (token_id % BITS_PER_WORD))
    if narrowed.any():
        row[:] = narrowed
