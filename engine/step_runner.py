"""StepRunner: from the chunks of a step to sampled tokens; what fails, fails alone."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import torch

from engine.device.mask_pool import ALL_TOKENS
from engine.ending import avoided_token_ids
from engine.errors import failure_sentence
from engine.sampler.logprobs import gather_logprobs
from engine.sampler.sampler import SampledToken, sample
from engine.step_batch import TokenSpan
from engine.step_masks import MadeMasks, MaskJob, StepMasks
from engine.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from engine.model_runner import ModelRunner
    from engine.output import TokenLogprobs
    from engine.sampler.state import SamplingState
    from engine.scheduler import ScheduledChunk
    from engine.sequence import Sequence
    from engine.stats import EngineCounters

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """What a chunk gave.

    Args:
        sampled: a token for the place behind the chunk and behind each of its drafts; empty where
            the chunk does not reach the sequence's end.
        scored: log probabilities of the next unscored prompt tokens.
        num_passes: forward passes that it took; several where the device sampled token by token.
    """

    sampled: tuple[SampledToken, ...]
    scored: tuple[TokenLogprobs, ...]
    num_passes: int = 1


class Failure(str):
    """The sentence that says why a sequence ends with an error."""

    __slots__ = ()


StepResults: TypeAlias = "dict[Sequence, ChunkResult | Failure]"


@dataclass(frozen=True, slots=True)
class _ChunkRows:
    """The logits that one chunk needs: first those that score prompt tokens, then the sampled."""

    chunk: ScheduledChunk
    num_scored: int
    num_sampled: int

    @classmethod
    def from_chunk(cls, chunk: ScheduledChunk) -> _ChunkRows:
        sequence = chunk.sequence
        end = min(sequence.num_computed_tokens + chunk.num_tokens, sequence.prompt_len - 1)
        # The logits of one place score the token at the next.
        num_scored = max(0, end - (sequence.num_scored_tokens - 1))
        return cls(chunk, num_scored, 1 + len(chunk.draft_token_ids) if chunk.samples else 0)

    def span(self) -> TokenSpan:
        sequence = self.chunk.sequence
        start = sequence.num_computed_tokens
        own = sequence.token_ids[start : start + self.chunk.num_tokens]
        return TokenSpan(
            token_ids=[*own, *self.chunk.draft_token_ids],
            start=start,
            block_ids=sequence.block_ids,
            num_logits=self.num_scored + self.num_sampled,
        )


@dataclass(frozen=True, slots=True)
class _SampledRow:
    """One place that is sampled, behind the drafts `ahead` of its sequence."""

    sequence: Sequence
    ahead: tuple[int, ...]

    def state(self) -> SamplingState:
        return self.sequence.sampling.after(self.ahead)


class StepRunner:
    """Runs the model over the chunks of a step and samples; changes no sequence.

    Args:
        runner: computes logits.
        masks: has room for all places that a step can sample.
        counters: `steps` and `isolated_steps` are counted here.
    """

    def __init__(self, runner: ModelRunner, masks: StepMasks, counters: EngineCounters) -> None:
        self._runner = runner
        self._masks = masks
        self._counters = counters

    def run(self, chunks: list[ScheduledChunk]) -> StepResults:
        """Run and sample; if that fails as a whole, once more for each sequence alone.

        Computing a chunk again writes the same keys and values to the same slots and draws the same
        random numbers, so those that were not at fault see no difference.

        Raises:
            RuntimeError: the device is beyond use.
        """
        self._counters.steps += 1
        try:
            return self._run_and_sample([_ChunkRows.from_chunk(chunk) for chunk in chunks])
        except Exception as error:
            ids = [chunk.sequence.request.request_id for chunk in chunks]
            alone = {"sequence_id": ids[0]} if len(ids) == 1 else {}
            logger.exception("a step failed, of %s", ", ".join(ids), extra=alone)
            self._runner.check_device()
            if len(chunks) == 1:
                sentence = failure_sentence("the step of this request", error)
                return {chunks[0].sequence: Failure(sentence)}
        self._counters.isolated_steps += 1
        results: StepResults = {}
        for chunk in chunks:
            results |= self.run([chunk])
        return results

    def _run_and_sample(self, parts: list[_ChunkRows]) -> StepResults:
        jobs = [
            MaskJob(part.chunk.sequence, part.chunk.draft_token_ids)
            for part in parts
            if part.num_sampled and part.chunk.sequence.request.constraint is not None
        ]
        making = self._masks.start(jobs)
        try:
            logits = self._runner.run([part.span() for part in parts])
        finally:
            # Waited for in every case: nobody may touch a constraint while its mask is made.
            made = making.result()
        scored = _score(logits, parts)
        sampled = self._sample(_sampled_logits(logits, parts), parts, made)
        results: StepResults = {
            part.chunk.sequence: ChunkResult(sampled[part.chunk.sequence], scored_here)
            for part, scored_here in zip(parts, scored, strict=True)
        }
        for job, mask_error in zip(jobs, made.errors, strict=True):
            if mask_error is not None:
                results[job.sequence] = Failure(mask_error)
        return results

    def _sample(
        self, logits: torch.Tensor, parts: list[_ChunkRows], made: MadeMasks
    ) -> dict[Sequence, tuple[SampledToken, ...]]:
        """The tokens of each sequence that samples; those of the others are empty."""
        rows = [
            _SampledRow(part.chunk.sequence, part.chunk.draft_token_ids[:index])
            for part in parts
            for index in range(part.num_sampled)
        ]
        constrained_rows = [
            index for index, row in enumerate(rows) if row.sequence.request.constraint is not None
        ]
        row_ids = [ALL_TOKENS] * len(rows)
        for index, row_id in zip(constrained_rows, made.row_ids, strict=True):
            row_ids[index] = row_id
        tokens = sample(
            logits,
            [row.state() for row in rows],
            suppressed=_suppressed(rows, logits.shape[1]),
            mask_rows=self._masks.pool.rows,
            row_ids=row_ids,
        )
        for index, is_narrowed in zip(constrained_rows, made.is_narrowed, strict=True):
            if is_narrowed:
                tokens[index] = replace(tokens[index], was_narrowed=True)
        remaining = iter(tokens)
        return {
            part.chunk.sequence: tuple(next(remaining) for _ in range(part.num_sampled))
            for part in parts
        }


def _score(logits: torch.Tensor, parts: list[_ChunkRows]) -> list[tuple[TokenLogprobs, ...]]:
    """The scored prompt tokens of each chunk."""
    scored: list[tuple[TokenLogprobs, ...]] = []
    row = 0
    for part in parts:
        sequence, scoring = part.chunk.sequence, part.chunk.sequence.request.prompt_scoring
        if scoring is None or part.num_scored == 0:
            scored.append(())
        else:
            begin = sequence.num_scored_tokens
            token_ids = sequence.token_ids[begin : begin + part.num_scored]
            scored.append(
                tuple(
                    gather_logprobs(
                        logits[row : row + part.num_scored],
                        to_device(token_ids, logits.device),
                        [scoring.num_top] * part.num_scored,
                    )
                )
            )
        row += part.num_scored + part.num_sampled
    return scored


def _sampled_logits(logits: torch.Tensor, parts: list[_ChunkRows]) -> torch.Tensor:
    """The rows that are sampled; the tensor itself where all are."""
    if not any(part.num_scored for part in parts):
        return logits
    is_sampled = (
        index >= part.num_scored
        for part in parts
        for index in range(part.num_scored + part.num_sampled)
    )
    sampled = [row for row, flag in enumerate(is_sampled) if flag]
    return logits[to_device(sampled, logits.device, torch.int64)]


def _suppressed(rows: SequenceOf[_SampledRow], vocab_size: int) -> dict[int, list[int]]:
    """The avoided tokens of unconstrained rows; for the others the mask has left them out."""
    avoided = (
        (index, avoided_token_ids(row.sequence, row.ahead))
        for index, row in enumerate(rows)
        if row.sequence.request.constraint is None
    )
    return {
        index: sorted(token_ids) for index, token_ids in avoided if 0 < len(token_ids) < vocab_size
    }
