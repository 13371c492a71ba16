"""MaskBuffer: bitmasks of a step's constrained sequences, filled while the forward pass runs."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class MaskJob:
    """The rows of one constrained sequence: behind its last token, and behind each draft."""

    sequence: LiveSequence
    draft_token_ids: tuple[int, ...] = ()

    @property
    def num_rows(self) -> int:
        """One for each place that is sampled."""
        return 1 + len(self.draft_token_ids)


class MaskBuffer:
    """Preallocated rows for all places that a step can sample.

    A mask depends only on the tokens accepted so far, so it is made in a thread of its own while
    the model runs; the kernels of both sides release the interpreter lock.

    Args:
        max_num_rows: places that a step can sample.
        padded_vocab_size: tokens of a row.
        pin_memory: page-locked memory, for asynchronous copies to a CUDA device.

    Attributes:
        num_masks: rows filled since the start.
        seconds: wall time that this took.
    """

    def __init__(self, max_num_rows: int, padded_vocab_size: int, *, pin_memory: bool) -> None:
        width = bitmask_width(padded_vocab_size)
        self._bitmask = torch.zeros((max_num_rows, width), dtype=torch.int32, pin_memory=pin_memory)
        self._rows: NDArray[np.int32] = self._bitmask.numpy()
        self._is_narrowed = np.zeros(max_num_rows, np.bool_)
        self._executor = ThreadPoolExecutor(1, "tightrope-masks")
        self.num_masks = 0
        self.seconds = 0.0

    def start_fill(self, jobs: Sequence[MaskJob]) -> Future[list[str | None]]:
        """Fill the rows of the jobs, one behind the other, in the background.

        No copy of the rows to a device may be under way: sampling a step waits for its own.

        Returns:
            For each job None, or the sentence that says why it has no masks; what its rows hold is
            undefined then.
        """
        if not jobs:
            done: Future[list[str | None]] = Future()
            done.set_result([])
            return done
        return self._executor.submit(self._fill, jobs)

    def get_rows(self, num_rows: int) -> torch.Tensor:
        """The first rows, (num_rows, width); a view, valid until the next `start_fill`."""
        return self._bitmask[:num_rows]

    def is_narrowed(self, num_rows: int) -> list[bool]:
        """Whether the token limit has kept tokens out of each of the first rows."""
        narrowed: list[bool] = self._is_narrowed[:num_rows].tolist()
        return narrowed

    def close(self) -> None:
        """End the thread."""
        self._executor.shutdown(wait=True)

    def _fill(self, jobs: Sequence[MaskJob]) -> list[str | None]:
        began = time.perf_counter()
        sentences = []
        end = 0
        for job in jobs:
            begin, end = end, end + job.num_rows
            sentences.append(self._fill_isolated(job, begin))
        self.num_masks += end
        self.seconds += time.perf_counter() - began
        return sentences

    def _fill_isolated(self, job: MaskJob, begin: int) -> str | None:
        """Fill the rows of one job; whatever its constraint does, the others are filled."""
        try:
            self._fill_job(job, begin)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # panics of Rust backends are BaseExceptions
            sequence_id = job.sequence.request.request_id
            logger.exception(
                "%s: a constraint failed to fill its mask",
                sequence_id,
                extra={"sequence_id": sequence_id},
            )
            return failure_sentence("making the constraint's mask", error)
        if not self._rows[begin : begin + job.num_rows].any(axis=1).all():
            return "the constraint allows no token here"
        return None

    def _fill_job(self, job: MaskJob, begin: int) -> None:
        """Fill the row of each place; the constraint walks along the drafts and comes back."""
        constraint = job.sequence.request.constraint
        assert constraint is not None, "only constrained sequences have masks"
        for index in range(job.num_rows):
            ahead = job.draft_token_ids[:index]
            if ahead and not constraint.accept_token(ahead[-1]):
                raise RuntimeError("a draft that was legal is refused")
            row = self._rows[begin + index]
            self._is_narrowed[begin + index] = fill_row(
                row,
                constraint,
                avoided_token_ids(job.sequence, ahead),
                tokens_left=(
                    None
                    if job.sequence.request.on_length == "cut"
                    else job.sequence.num_tokens_left - index
                ),
            )
        constraint.rollback(len(job.draft_token_ids))


def fill_row(
    row: NDArray[np.int32],
    constraint: Constraint,
    avoided: Collection[int],
    *,
    tokens_left: int | None = None,
) -> bool:
    """The constraint's mask without the avoided tokens, unless nothing else is allowed.

    Args:
        row: int32, (width,), overwritten.
        constraint: gives the mask.
        avoided: token ids to keep out: the constraint wins where it allows only these.
        tokens_left: how many tokens the text may still have, if it is to be complete then.

    Returns:
        Whether `tokens_left` has kept out tokens that the constraint allows.
    """
    constraint.fill_bitmask(row)
    is_narrowed = False
    if tokens_left is not None:
        unlimited = row.copy()
        constraint.fill_closing_bitmask(row, tokens_left)
        is_narrowed = not np.array_equal(row, unlimited)
    if avoided:
        narrowed = row.copy()
        words = narrowed.view(np.uint32)
        for token_id in avoided:
            words[token_id // BITS_PER_WORD] &= ~np.uint32(1 << (token_id % BITS_PER_WORD))
        if narrowed.any():
            row[:] = narrowed
    return is_narrowed
