"""Engine: the step loop. One step is schedule -> run -> sample -> update."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

from engine.admission import check_request, check_unused
from engine.advance import Ending, advance, force_text, isolate, prepare_drafts
from engine.block_pool import BlockPool
from engine.bursts import Bursts
from engine.device.bitmask import bitmask_width
from engine.device.current_device import current_device
from engine.device.mask_pool import MaskPool
from engine.drafts import PromptLookup
from engine.output import FinishReason, RequestOutput
from engine.prefix_cache import PrefixCache
from engine.scheduler import Scheduler
from engine.sequence import Sequence
from engine.stats import EngineCounters, EngineStats
from engine.step_masks import StepMasks
from engine.step_runner import Failure, StepRunner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.decode_graphs import DecodeGraphs
    from engine.model_info import ModelInfo
    from engine.model_runner import ModelRunner
    from engine.output import TokenLogprobs
    from engine.request import Request
    from engine.resolved_config import ResolvedConfig
    from engine.scheduler import ScheduledChunk
    from engine.step_runner import ChunkResult, StepResults


class Engine:
    """Generates tokens for any number of requests; not thread-safe, one thread owns it.

    Args:
        runner: computes logits.
        config: sizes and limits.
        info: facts about the model.
        graphs: runs bursts of decode steps; None: every step is the host's.
    """

    def __init__(
        self,
        runner: ModelRunner,
        config: ResolvedConfig,
        info: ModelInfo,
        *,
        graphs: DecodeGraphs | None = None,
    ) -> None:
        self.config = config
        self.info = info
        self._runner = runner
        self._block_pool = BlockPool(config.num_blocks)
        self._prefix_cache = PrefixCache(
            self._block_pool, config.block_size, is_on=config.prefix_cache
        )
        self._scheduler = Scheduler(
            self._block_pool,
            self._prefix_cache,
            block_size=config.block_size,
            max_num_seqs=config.max_num_seqs,
            max_num_batched_tokens=config.max_num_batched_tokens,
        )
        mask_pool = MaskPool(
            bitmask_width(info.padded_vocab_size),
            max_bytes=config.mask_pool_bytes,
            max_step_rows=config.max_num_masks,
            device=config.device,
        )
        self._masks = StepMasks(mask_pool)
        self._counters = EngineCounters()
        self._step_runner = StepRunner(runner, self._masks, self._counters)
        self._bursts = None if graphs is None else Bursts(graphs, self._scheduler, runner)
        self._sequences: dict[str, Sequence] = {}
        self._arrived: list[Sequence] = []
        self._arrivals = itertools.count()

    def check_request(self, request: Request) -> None:
        """Refuse a request that could never run; any thread may call it that owns the request.

        Raises:
            InvalidRequestError: names the field and the way out.
        """
        check_request(request, self.config, self.info.padded_vocab_size)

    def add_request(self, request: Request) -> None:
        """Queue a request.

        Raises:
            InvalidRequestError: it could never run, or its id or its constraint is in use.
        """
        self.check_request(request)
        check_unused(request, (live.request for live in self._sequences.values()))
        sequence = Sequence.from_request(
            request,
            arrival=next(self._arrivals),
            eos_token_ids=self.info.eos_token_ids,
            max_model_len=self.config.max_model_len,
            forced_text=self.config.forced_text,
            lookup=PromptLookup() if self.config.max_draft_tokens > 0 else None,
        )
        self._sequences[request.request_id] = sequence
        self._arrived.append(sequence)
        self._scheduler.add(sequence)

    def abort(self, request_id: str) -> RequestOutput | None:
        """End a request in whatever state it is; None if there is no such request (any more)."""
        sequence = self._sequences.get(request_id)
        return None if sequence is None else self._finish(sequence, Ending(FinishReason.ABORT))

    @property
    def has_unfinished(self) -> bool:
        """Whether a step would have anything to do."""
        return bool(self._sequences)

    def stats(self) -> EngineStats:
        """A snapshot; call it from the thread that steps."""
        counters = dataclasses.replace(
            self._counters,
            preemptions=self._scheduler.num_preemptions,
            evictions=self._block_pool.num_evictions,
            masks=self._masks.num_masks,
            mask_seconds=self._masks.seconds,
            finished=dict(self._counters.finished),
        )
        return EngineStats(
            num_running=len(self._scheduler.running),
            num_waiting=len(self._scheduler.waiting),
            num_free_blocks=self._block_pool.num_free,
            num_blocks=self.config.num_blocks,
            counters=counters,
            max_running=self.config.max_num_seqs,
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
        with current_device(self.config.device):
            return self._step()

    def _step(self) -> list[RequestOutput]:
        outputs = self._start_arrived()
        if self._bursts is not None and (burst := self._bursts.run()):
            self._counters.steps += burst[0][1].num_passes
            self._counters.bursts += 1
            chunks = [chunk for chunk, _ in burst]
            return outputs + self._update(chunks, {c.sequence: result for c, result in burst})
        plan = self._scheduler.schedule()
        if plan.chunks:
            for copy in plan.block_copies:
                self._runner.copy_block(copy.source, copy.target)
            self._counters.block_copies += len(plan.block_copies)
            outputs += self._update(plan.chunks, self._step_runner.run(plan.chunks))
        return outputs

    def _start_arrived(self) -> list[RequestOutput]:
        """Append what must stand at the beginning of new texts; it is computed with the prompt.

        Returns:
            The last outputs of sequences that have ended by it, or failed.
        """
        arrived, self._arrived = self._arrived, []
        outputs = []
        for sequence in arrived:
            # It may have been aborted, and its id be another's by now.
            is_live = self._sequences.get(sequence.request.request_id) is sequence
            if is_live and sequence.num_tokens_left > 0:
                ending = isolate(force_text, sequence)
                if ending is not None:
                    outputs.append(self._finish(sequence, ending))
        return outputs

    def _update(self, chunks: list[ScheduledChunk], results: StepResults) -> list[RequestOutput]:
        """Advance the sequences by what was computed and sampled."""
        outputs = []
        for chunk in chunks:
            result = results[chunk.sequence]
            if isinstance(result, Failure):
                outputs.append(self._finish(chunk.sequence, Ending(FinishReason.ERROR, result)))
                continue
            output = self._advance(chunk, result)
            if output is not None:
                outputs.append(output)
        return outputs

    def _advance(self, chunk: ScheduledChunk, result: ChunkResult) -> RequestOutput | None:
        """Advance one sequence; None if its caller need not hear of it yet."""
        sequence = chunk.sequence
        num_prompt_tokens = max(0, sequence.prompt_len - sequence.num_computed_tokens)
        self._counters.prefill_tokens += min(chunk.num_tokens, num_prompt_tokens)
        sequence.work.num_forward_passes += result.num_passes
        sequence.work.num_computed_tokens += chunk.num_batched_tokens
        sequence.num_computed_tokens += chunk.num_tokens
        sequence.num_scored_tokens += len(result.scored)
        logprobs: list[TokenLogprobs] = []
        ending = isolate(advance, sequence, result, chunk.draft_token_ids, logprobs=logprobs)
        if ending is None and self.config.max_draft_tokens and chunk.samples:
            ending = isolate(prepare_drafts, sequence, self.config.max_draft_tokens)
        if ending is not None:
            return self._finish(sequence, ending, scored=result.scored, logprobs=logprobs)
        self._prefix_cache.publish(sequence)
        if not chunk.samples and not result.scored:
            return None
        return self._output(sequence, scored=result.scored, logprobs=logprobs)

    def _finish(
        self,
        sequence: Sequence,
        ending: Ending,
        *,
        scored: tuple[TokenLogprobs, ...] = (),
        logprobs: Iterable[TokenLogprobs] = (),
    ) -> RequestOutput:
        """Forget the sequence, free its blocks, and say how it ended."""
        # What a failed sequence has computed may be the fault itself: nobody else shall find it.
        is_trusted = ending.reason is not FinishReason.ERROR
        if is_trusted:
            self._prefix_cache.publish(sequence)
        self._scheduler.remove(sequence, is_trusted=is_trusted)
        del self._sequences[sequence.request.request_id]
        self._counters.count_end(ending.reason, sequence.work, was_closed=sequence.was_closed)
        self._counters.rejected_tokens += ending.is_rejection
        # Nor shall the caller be told scores that are no numbers.
        output = self._output(sequence, scored=scored if is_trusted else (), logprobs=logprobs)
        return dataclasses.replace(
            output,
            finish_reason=ending.reason,
            error=ending.error,
            was_closed=sequence.was_closed and ending.reason is FinishReason.STOP,
            work=sequence.work,
        )

    def _output(
        self,
        sequence: Sequence,
        *,
        scored: tuple[TokenLogprobs, ...],
        logprobs: Iterable[TokenLogprobs],
    ) -> RequestOutput:
        """What has not been delivered to the caller yet."""
        token_ids = sequence.take_undelivered()
        self._counters.output_tokens += len(token_ids)
        return RequestOutput(
            sequence.request.request_id,
            token_ids,
            tuple(logprobs),
            num_cached_tokens=sequence.work.num_cached_tokens,
            prompt_logprobs=scored,
        )
