"""StepMasks: masks of a step's constrained sequences, made while the forward pass runs."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engine.device.bitmask import BITS_PER_WORD
from engine.device.mask_pool import ALL_TOKENS, NoTokenAllowedError
from engine.ending import avoided_token_ids
from engine.errors import failure_sentence

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from engine.constraint import Constraint
    from engine.device.mask_pool import MaskPool
    from engine.sequence import Sequence as LiveSequence

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MaskJob:
    """The masks of one constrained sequence: behind its last token, and behind each draft."""

    sequence: LiveSequence
    draft_token_ids: tuple[int, ...] = ()

    @property
    def num_rows(self) -> int:
        """One for each place that is sampled."""
        return 1 + len(self.draft_token_ids)


@dataclass(slots=True)
class MadeMasks:
    """What became of the jobs.

    Args:
        row_ids: rows of the pool, of each place of each job, in order; valid until the next step.
        is_narrowed: whether the token limit has kept tokens out of that row.
        errors: for each job None, or the sentence that says why it has no masks; its places are
            under some row then.
    """

    row_ids: list[int] = field(default_factory=list)
    is_narrowed: list[bool] = field(default_factory=list)
    errors: list[str | None] = field(default_factory=list)


class StepMasks:
    """Makes the masks of all places that a step samples, in one piece of work.

    A mask depends only on the tokens accepted so far, so it is made in a thread of its own while
    the model runs. Where a constraint has a mask to share, all that is asked of it is which one:
    nothing is copied but what the pool has not seen. The rest is filled row by row.

    Args:
        pool: gets the rows.

    Attributes:
        num_masks: masks made since the start.
        seconds: wall time that this took.
    """

    def __init__(self, pool: MaskPool) -> None:
        self.pool = pool
        self._executor = ThreadPoolExecutor(1, "tightrope-masks")
        self.num_masks = 0
        self.seconds = 0.0

    def start(self, jobs: Sequence[MaskJob]) -> Future[MadeMasks]:
        """Make the masks of the jobs in the background.

        Until the result is there nobody else may touch the jobs' constraints or the pool.

        Args:
            jobs: with no more rows in all than the pool has room for in a step.
        """
        if not jobs:
            done: Future[MadeMasks] = Future()
            done.set_result(MadeMasks())
            return done
        return self._executor.submit(self._make, jobs)

    def close(self) -> None:
        """End the thread."""
        self._executor.shutdown(wait=True)

    def _make(self, jobs: Sequence[MaskJob]) -> MadeMasks:
        began = time.perf_counter()
        self.pool.begin_step()
        made = MadeMasks()
        for job in jobs:
            num_before = len(made.row_ids)
            try:
                self._make_job(job, made)
                made.errors.append(None)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # noqa: BLE001  # panics of Rust backends are these
                made.errors.append(_sentence(job, error))
                num_missing = num_before + job.num_rows - len(made.row_ids)
                made.row_ids += [ALL_TOKENS] * num_missing
                made.is_narrowed += [False] * num_missing
        self.pool.end_step()
        self.num_masks += len(made.row_ids)
        self.seconds += time.perf_counter() - began
        return made

    def _make_job(self, job: MaskJob, made: MadeMasks) -> None:
        """Make the masks of one job; the constraint walks along the drafts and comes back.

        Raises:
            BaseException: whatever the constraint raises; it is where it was all the same.
        """
        constraint = job.sequence.request.constraint
        assert constraint is not None, "only constrained sequences have masks"
        num_ahead = 0
        try:
            self._make_mask(job.sequence, constraint, (), made)
            for token_id in job.draft_token_ids:
                if not constraint.accept_token(token_id):
                    raise RuntimeError("a draft that was legal is refused")
                num_ahead += 1
                ahead = job.draft_token_ids[:num_ahead]
                self._make_mask(job.sequence, constraint, ahead, made)
        finally:
            if num_ahead:
                constraint.rollback(num_ahead)

    def _make_mask(
        self,
        sequence: LiveSequence,
        constraint: Constraint,
        ahead: tuple[int, ...],
        made: MadeMasks,
    ) -> None:
        """Make the mask behind the drafts `ahead`."""
        closes = sequence.request.on_length == "close"
        avoided = avoided_token_ids(sequence, ahead)
        shared = None if closes or avoided else constraint.shared_bitmask()
        if shared is not None:
            made.row_ids.append(self.pool.shared_row_id(shared))
            made.is_narrowed.append(False)
            return
        tokens_left = sequence.num_tokens_left - len(ahead) if closes else None
        row_id, row = self.pool.take_own_row()
        is_narrowed = fill_row(row, constraint, avoided, tokens_left=tokens_left)
        if not row.any():
            raise NoTokenAllowedError
        made.row_ids.append(row_id)
        made.is_narrowed.append(is_narrowed)


def fill_row(
    row: NDArray[np.int32],
    constraint: Constraint,
    avoided: Collection[int] = (),
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


def _sentence(job: MaskJob, error: BaseException) -> str:
    """Why a sequence has no masks; the error is logged unless the sentence says all."""
    if isinstance(error, NoTokenAllowedError):
        return "the constraint allows no token here"
    sequence_id = job.sequence.request.request_id
    logger.error(
        "%s: a constraint failed to make its mask",
        sequence_id,
        exc_info=error,
        extra={"sequence_id": sequence_id},
    )
    return failure_sentence("making the constraint's mask", error)
