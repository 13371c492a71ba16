"""Bursts: several decode steps on the device while the host does nothing.

A burst is taken where its tokens are those that single steps would give: every running sequence
decodes, and neither its parameters nor its constraint need the host between two tokens. Whatever
the tokens mean for the sequence (ends, forced text, the matcher) is found afterwards by the same
code that checks drafts, so a sequence moves between both paths and nobody can tell.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.decode_buffers import DecodingRow
from engine.device.automata import FREE
from engine.ending import avoided_token_ids
from engine.sampler.sampler import SampledToken
from engine.scheduler import ScheduledChunk
from engine.step_runner import ChunkResult

if TYPE_CHECKING:
    from engine.decode_graphs import DecodeGraphs
    from engine.model_runner import ModelRunner
    from engine.scheduler import Scheduler
    from engine.sequence import Sequence

logger = logging.getLogger(__name__)


class Bursts:
    """Decides whether the next step may be a burst, and runs it.

    Args:
        graphs: run it.
        scheduler: whose running sequences decode.
        runner: asked whether the device is well after a failure.
    """

    def __init__(self, graphs: DecodeGraphs, scheduler: Scheduler, runner: ModelRunner) -> None:
        self._graphs = graphs
        self._scheduler = scheduler
        self._runner = runner
        self._has_failed = False

    def run(self) -> list[tuple[ScheduledChunk, ChunkResult]]:
        """The tokens of a burst; empty where a single step must be taken instead.

        Raises:
            RuntimeError: the device is beyond use.
        """
        sequences = self._scheduler.running
        if self._has_failed or self._scheduler.can_admit:
            return []
        if not 0 < len(sequences) <= self._graphs.max_num_rows:
            return []
        if not all(map(_needs_no_host, sequences)):
            return []
        num_steps = min(self._graphs.max_steps, *(s.num_tokens_left for s in sequences))
        if num_steps < 2 or not self._scheduler.reserve(num_steps):
            return []
        try:
            states = self._states(sequences)
            if states is None:
                return []
            rows = [
                _row(sequence, state, num_steps)
                for sequence, state in zip(sequences, states, strict=True)
            ]
            burst = self._graphs.run(rows)
        except Exception:
            # Single steps compute the same again, and tell whose fault it was. A model that cannot
            # be captured would fail every time, so there is no second try.
            logger.exception("a burst of %d sequences failed; bursts are off now", len(sequences))
            self._has_failed = True
            self._runner.check_device()
            return []
        token_ids, is_usable = burst.token_ids.T.tolist(), burst.is_usable.T.tolist()
        return [
            _result(sequence, token_ids[index], is_usable[index])
            for index, sequence in enumerate(sequences)
        ]

    def _states(self, sequences: list[Sequence]) -> list[int] | None:
        """The device's state of each sequence; None where the automata find no room."""
        automata = {
            id(automaton): automaton
            for sequence in sequences
            if (automaton := sequence.request.automaton) is not None
        }
        bases = self._graphs.automata.bases(automata.values())
        if bases is None:
            return None
        base_of = dict(zip(automata, bases, strict=True))
        return [
            FREE
            if sequence.request.automaton is None
            else base_of[id(sequence.request.automaton)] + sequence.automaton_state()
            for sequence in sequences
        ]


def _needs_no_host(sequence: Sequence) -> bool:
    """Whether the next tokens follow from logits, automaton and random numbers alone."""
    request, sampling = sequence.request, sequence.request.sampling
    is_followed = request.constraint is None or (
        request.automaton is not None and request.on_length == "cut"
    )
    return (
        is_followed
        and sequence.num_uncomputed_tokens == 1
        and not sequence.is_prefilling
        and not sequence.draft_token_ids
        and sampling.num_logprobs is None
        and sampling.top_p == 1
        and sampling.top_k is None
        and not sampling.logit_bias
        and not sampling.bad_words
        and not (request.constraint is not None and sampling.stop_token_ids)
        and not sequence.sampling.has_penalties
        and not avoided_token_ids(sequence)
    )


def _row(sequence: Sequence, state: int, num_steps: int) -> DecodingRow:
    return DecodingRow(
        token_id=sequence.token_ids[-1],
        position=sequence.num_computed_tokens,
        block_ids=sequence.block_ids,
        state=state,
        temperature=sequence.request.sampling.temperature,
        min_p=sequence.request.sampling.min_p,
        uniforms=sequence.sampling.next_uniforms(num_steps),
    )


def _result(
    sequence: Sequence, token_ids: list[int], is_usable: list[bool]
) -> tuple[ScheduledChunk, ChunkResult]:
    """A burst in the shape of a step: each token but the last is a draft that proved right."""
    chunk = ScheduledChunk(sequence, num_tokens=1, samples=True)
    sampled = tuple(
        SampledToken(token_id if usable else None)
        for token_id, usable in zip(token_ids, is_usable, strict=True)
    )
    return (
        replace(chunk, draft_token_ids=tuple(token_ids[:-1])),
        ChunkResult(sampled, scored=(), num_passes=len(token_ids)),
    )
