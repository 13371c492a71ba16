"""Engine: the step loop. One step is schedule -> run -> sample -> update."""

from __future__ import annotations

import dataclasses
import itertools
import logging
from typing import TYPE_CHECKING

from engine.admission import check_request
from engine.block_pool import BlockPool
from engine.ending import TokenRejectedError, accept_token, avoided_token_ids
from engine.errors import InvalidRequestError, failure_sentence
from engine.mask_buffer import MaskBuffer
from engine.output import FinishReason, RequestOutput
from engine.sampler.sampler import SampledToken, sample
from engine.scheduler import Scheduler
from engine.sequence import Sequence
from engine.stats import EngineCounters, EngineStats
from engine.step_batch import TokenSpan

if TYPE_CHECKING:
    from engine.config import ResolvedConfig
    from engine.model_info import ModelInfo
    from engine.model_runner import ModelRunner
    from engine.output import TokenLogprobs
    from engine.request import Request
    from engine.scheduler import ScheduledChunk

logger = logging.getLogger(__name__)


class _Failure(str):
    """The sentence that says why a sequence ends with an error."""

    __slots__ = ()


class Engine:
    """Generates tokens for any number of requests; not thread-safe, one thread owns it.

    Args:
        runner: computes logits.
        config: sizes and limits.
        info: facts about the model.
    """

    def __init__(self, runner: ModelRunner, config: ResolvedConfig, info: ModelInfo) -> None:
        self.config = config
        self.info = info
        self._runner = runner
        self._block_pool = BlockPool(config.num_blocks)
        self._scheduler = Scheduler(
            self._block_pool,
            block_size=config.block_size,
            max_num_seqs=config.max_num_seqs,
            max_num_batched_tokens=config.max_num_batched_tokens,
        )
        self._masks = MaskBuffer(
            config.max_num_seqs,
            info.padded_vocab_size,
            pin_memory=config.device.type == "cuda",
        )
        self._sequences: dict[str, Sequence] = {}
        self._arrivals = itertools.count()
        self._counters = EngineCounters()

    def check_request(self, request: Request) -> None:
        """Refuse a request that could never run; needs no lock, any thread may call it.

        Raises:
            InvalidRequestError: names the field and the way out.
        """
        check_request(request, self.config, self.info.padded_vocab_size)

    def add_request(self, request: Request) -> None:
        """Queue a request.

        Raises:
            InvalidRequestError: it could never run, or its id is in use.
        """
        self.check_request(request)
        if request.request_id in self._sequences:
            raise InvalidRequestError("request_id", f"{request.request_id} is in use")
        sequence = Sequence.from_request(
            request, arrival=next(self._arrivals), eos_token_ids=self.info.eos_token_ids
        )
        self._sequences[request.request_id] = sequence
        self._scheduler.add(sequence)

    def abort(self, request_id: str) -> RequestOutput | None:
        """End a request in whatever state it is; None if there is no such request (any more)."""
        sequence = self._sequences.get(request_id)
        return None if sequence is None else self._finish(sequence, FinishReason.ABORT)

    @property
    def has_unfinished(self) -> bool:
        """Whether a step would have anything to do."""
        return bool(self._sequences)

    def stats(self) -> EngineStats:
        """A snapshot; call it from the thread that steps."""
        counters = dataclasses.replace(
            self._counters,
            preemptions=self._scheduler.num_preemptions,
            finished=dict(self._counters.finished),
        )
        return EngineStats(
            num_running=len(self._scheduler.running),
            num_waiting=len(self._scheduler.waiting),
            num_free_blocks=self._block_pool.num_free,
            num_blocks=self.config.num_blocks,
            counters=counters,
        )

    def close(self) -> None:
        """End the engine's helper threads; the engine is not used afterwards."""
        self._masks.close()

    def step(self) -> list[RequestOutput]:
        """Compute one batch.

        Returns:
            One output for each sequence that got a token or ended. Failures of single requests are
            outputs too; nothing is raised for them.

        Raises:
            RuntimeError: the device is beyond use, and so is this engine.
        """
        chunks = self._scheduler.schedule()
        if not chunks:
            return []
        results = self._compute(chunks)
        return self._update(chunks, results)

    def _compute(self, chunks: list[ScheduledChunk]) -> dict[Sequence, SampledToken | _Failure]:
        """Run and sample; if that fails as a whole, once more for each sequence alone.

        Computing a chunk again writes the same keys and values to the same slots and draws the same
        random numbers, so those that were not at fault see no difference.
        """
        self._counters.steps += 1
        try:
            return self._run_and_sample(chunks)
        except Exception as error:
            logger.exception("a step of %d sequences failed", len(chunks))
            self._runner.check_device()
            if len(chunks) == 1:
                sentence = failure_sentence("the step of this request", error)
                return {chunks[0].sequence: _Failure(sentence)}
        self._counters.isolated_steps += 1
        results: dict[Sequence, SampledToken | _Failure] = {}
        for chunk in chunks:
            results |= self._compute([chunk])
        return results

    def _run_and_sample(
        self, chunks: list[ScheduledChunk]
    ) -> dict[Sequence, SampledToken | _Failure]:
        sampled = [chunk.sequence for chunk in chunks if chunk.samples]
        constrained_rows = [
            row for row, sequence in enumerate(sampled) if sequence.request.constraint is not None
        ]
        constrained = [sampled[row] for row in constrained_rows]
        filling = self._masks.start_fill(constrained)
        try:
            logits = self._runner.run([_span(chunk) for chunk in chunks])
        finally:
            # Waited for in every case: nobody may touch a constraint while its mask is made.
            mask_errors = filling.result()
        if not sampled:
            return {}

        tokens = sample(
            logits,
            [sequence.sampling for sequence in sampled],
            suppressed=_suppressed(sampled),
            bitmask=self._masks.get_rows(len(constrained)),
            constrained_rows=constrained_rows,
        )
        results: dict[Sequence, SampledToken | _Failure] = dict(zip(sampled, tokens, strict=True))
        for sequence, mask_error in zip(constrained, mask_errors, strict=True):
            if mask_error is not None:
                results[sequence] = _Failure(mask_error)
        return results

    def _update(
        self,
        chunks: list[ScheduledChunk],
        results: dict[Sequence, SampledToken | _Failure],
    ) -> list[RequestOutput]:
        """Advance the sequences by what was computed and sampled."""
        outputs = []
        for chunk in chunks:
            sequence = chunk.sequence
            result = results.get(sequence)
            if chunk.num_tokens > 1 or sequence.num_output_tokens == 0:
                self._counters.prefill_tokens += chunk.num_tokens
            sequence.num_computed_tokens += chunk.num_tokens
            match result:
                case None:
                    pass  # a chunk of a prompt that is not yet computed to its end
                case _Failure():
                    outputs.append(self._finish(sequence, FinishReason.ERROR, error=result))
                case SampledToken():
                    outputs.append(self._accept(sequence, result))
        return outputs

    def _accept(self, sequence: Sequence, sampled: SampledToken) -> RequestOutput:
        """Advance one sequence by its sampled token; a failure ends it alone."""
        token_id = sampled.token_id
        if token_id is None:
            return self._finish(
                sequence, FinishReason.ERROR, error="the model gave no finite logit to choose from"
            )
        try:
            acceptance = accept_token(sequence, token_id, max_model_len=self.config.max_model_len)
        except TokenRejectedError as error:
            self._counters.rejected_tokens += 1
            return self._finish(sequence, FinishReason.ERROR, error=str(error))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # panics of Rust backends are BaseExceptions
            logger.exception("a constraint failed to accept a token")
            sentence = failure_sentence("the constraint", error)
            return self._finish(sequence, FinishReason.ERROR, error=sentence)
        token_ids = (token_id,) if acceptance.is_output else ()
        logprobs = (sampled.logprobs,) if acceptance.is_output and sampled.logprobs else ()
        self._counters.output_tokens += len(token_ids)
        if acceptance.finish_reason is not None:
            return self._finish(
                sequence, acceptance.finish_reason, token_ids=token_ids, logprobs=logprobs
            )
        return RequestOutput(sequence.request.request_id, token_ids, logprobs)

    def _finish(
        self,
        sequence: Sequence,
        reason: FinishReason,
        *,
        token_ids: tuple[int, ...] = (),
        logprobs: tuple[TokenLogprobs, ...] = (),
        error: str | None = None,
    ) -> RequestOutput:
        """Forget the sequence, free its blocks, and say how it ended."""
        request_id = sequence.request.request_id
        self._scheduler.remove(sequence)
        del self._sequences[request_id]
        self._counters.finished[reason] += 1
        return RequestOutput(request_id, token_ids, logprobs, finish_reason=reason, error=error)


def _span(chunk: ScheduledChunk) -> TokenSpan:
    sequence = chunk.sequence
    start = sequence.num_computed_tokens
    return TokenSpan(
        token_ids=sequence.token_ids[start : start + chunk.num_tokens],
        start=start,
        block_ids=sequence.block_ids,
        needs_logits=chunk.samples,
    )


def _suppressed(sampled: list[Sequence]) -> dict[int, list[int]]:
    """The avoided tokens of unconstrained rows; for the others the mask has left them out."""
    avoided = (
        (row, avoided_token_ids(sequence))
        for row, sequence in enumerate(sampled)
        if sequence.request.constraint is None
    )
    return {row: sorted(token_ids) for row, token_ids in avoided if token_ids}
