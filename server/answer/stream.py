"""streamed_answer: a generation encoded as server-sent events while it runs."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

import msgspec

from server.answer.bodies import (
    chunk_body,
    chunk_choice,
    finish_reason,
    logprobs_body,
    usage_body,
)
from server.answer.deltas import DeltaWriter
from server.answer.failures import told_failure
from server.answer.length_note import length_note
from server.error_answers import error_body

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from engine.output import TokenLogprobs
    from grammars.vocabulary import Vocabulary
    from server.admitted_chat import AdmittedChat
    from server.answer.bodies import AnswerHead, Json
    from server.generation import Generation
    from server.reply.choice import ReplyStep

DONE: Final = b"data: [DONE]\n\n"
"""The last event of a stream that has not failed."""


async def streamed_answer(
    generation: Generation, chat: AdmittedChat, head: AnswerHead, vocabulary: Vocabulary
) -> AsyncGenerator[bytes, None]:
    """Run a generation and encode it as server-sent events, `[DONE]` at the end.

    A failure becomes an error event, behind which the stream ends.
    """
    options = chat.request.stream_options
    encoder = _ChunkEncoder(
        head, vocabulary, with_usage=bool(options is not None and options.include_usage)
    )
    states = [
        _ChoiceState(index, head, is_legacy=chat.is_legacy) for index in range(chat.num_choices)
    ]
    for state in states:
        yield encoder.role(state)
    try:
        async with aclosing(generation.steps()) as steps:
            async for choice, step in steps:
                for chunk in encoder.step(states[choice], step):
                    yield chunk
    except Exception as error:  # noqa: BLE001  # whatever it is, the stream must tell
        yield sse(error_body(told_failure(error, head.answer_id)))
        return
    if encoder.with_usage:
        yield encoder.usage(usage_body(generation.usage))
    yield DONE


def sse(body: object) -> bytes:
    """One server-sent event (HTML Living Standard, section 9.2)."""
    return b"data: " + msgspec.json.encode(body) + b"\n\n"


class _ChoiceState:
    """What the stream has sent of one choice."""

    def __init__(self, index: int, head: AnswerHead, *, is_legacy: bool) -> None:
        self.index = index
        self.is_legacy = is_legacy
        self.deltas = DeltaWriter(head, is_legacy=is_legacy)
        self.logprobs: list[TokenLogprobs] = []  # of tokens whose text is still held back


class _ChunkEncoder:
    """Encodes chunks; with usage asked for, each chunk but the last has `usage: null`."""

    def __init__(self, head: AnswerHead, vocabulary: Vocabulary, *, with_usage: bool) -> None:
        self._head = head
        self._vocabulary = vocabulary
        self.with_usage = with_usage

    def role(self, state: _ChoiceState) -> bytes:
        """The first chunk of a choice, the only one with a role."""
        delta: Json = {"role": "assistant", "content": "", "refusal": None}
        return self._chunk(chunk_choice(state.index, delta))

    def step(self, state: _ChoiceState, step: ReplyStep) -> Iterator[bytes]:
        """The chunks of one step, a single one where that is possible, then the finish."""
        state.logprobs += step.logprobs
        for delta in state.deltas.deltas(step.events):
            logprobs = self._take_logprobs(state)
            yield self._chunk(chunk_choice(state.index, delta, logprobs=logprobs))
        if step.finish is not None:
            finish = finish_reason(step.finish, is_legacy=state.is_legacy)
            logprobs = self._take_logprobs(state)
            choice = chunk_choice(state.index, {}, finish=finish, logprobs=logprobs)
            yield self._chunk(choice, length_note({state.index: step}))

    def usage(self, usage: Json) -> bytes:
        """The last chunk, without choices."""
        return sse(chunk_body(self._head, []) | {"usage": usage})

    def _take_logprobs(self, state: _ChoiceState) -> Json | None:
        if not state.logprobs:
            return None
        logprobs, state.logprobs = state.logprobs, []
        return logprobs_body(self._vocabulary, logprobs)

    def _chunk(self, choice: Json, note: Json | None = None) -> bytes:
        body = chunk_body(self._head, [choice]) | (note or {})
        return sse(body | {"usage": None} if self.with_usage else body)
