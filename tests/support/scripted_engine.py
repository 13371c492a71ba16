"""An engine that writes scripted texts, and holds itself to the request's constraint."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import EngineDeadError, InvalidRequestError
from engine.output import FinishReason, RequestOutput, TokenLogprobs
from engine.stats import EngineCounters, EngineStats

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from engine.request import Request
    from grammars.vocabulary import Vocabulary


_PREFERENCE = {byte: rank for rank, byte in enumerate(b'"}],1a0:- ')}
"""Bytes that bring JSON to its end, the best first."""


def token_ids_of(vocabulary: Vocabulary, text: str) -> list[int]:
    """The tokens of a text; control tokens where the text spells them."""
    return [
        token_id
        for piece in vocabulary.split_controls(text)
        for token_id in (
            [vocabulary.control_token_id(piece)]
            if isinstance(piece, int)
            else vocabulary.encode(piece)
        )
    ]


@dataclass
class ScriptedEngine:
    """Answers the k-th request with the k-th text, and from the last on always with the last.

    Args:
        vocabulary: of the scripted texts.
        texts: what is written; None: a short text that the constraint allows ("ok" without one).
        tokens_per_step: tokens of one output.
        pause_after: outputs after which nothing more comes until the request is aborted.
        fails_after: outputs after which the request fails with an error.
        was_closed: whether the last outputs say that the limit has closed the text.
    """

    vocabulary: Vocabulary
    texts: list[str | None] = field(default_factory=lambda: ["ok"])
    tokens_per_step: int = 1
    pause_after: int | None = None
    fails_after: int | None = None
    was_closed: bool = False
    is_alive: bool = True
    num_waiting: int = 0
    requests: list[Request] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)
    num_running: int = 0

    def stats(self) -> EngineStats:
        return EngineStats(self.num_running, self.num_waiting, 1, 1, EngineCounters())

    def check_request(self, request: Request) -> None:
        if not request.prompt_token_ids:
            raise InvalidRequestError("prompt_token_ids", "the prompt is empty")

    async def generate(self, request: Request) -> AsyncGenerator[RequestOutput, None]:
        if not self.is_alive:
            raise EngineDeadError("dead")
        text = self.texts[min(len(self.requests), len(self.texts) - 1)]
        self.requests.append(request)
        self.num_running += 1
        has_ended = False
        try:
            for number, output in enumerate(self._outputs(request, text)):
                await asyncio.sleep(0)
                if number == self.pause_after:
                    await asyncio.Event().wait()
                if number == self.fails_after:
                    output = RequestOutput(
                        request.request_id, (), (), FinishReason.ERROR, "injected"
                    )
                has_ended = output.finish_reason is not None
                yield output
                if has_ended:
                    return
        finally:
            self.num_running -= 1
            if not has_ended:
                self.aborted.append(request.request_id)

    def _outputs(self, request: Request, text: str | None) -> Iterator[RequestOutput]:
        if text is None and request.constraint is not None:
            yield from self._follow(request)
            return
        text = text or "ok"
        token_ids = token_ids_of(self.vocabulary, text)
        reason = FinishReason.STOP
        if len(token_ids) >= request.sampling.max_tokens:
            token_ids, reason = token_ids[: request.sampling.max_tokens], FinishReason.LENGTH
        for start in range(0, len(token_ids), self.tokens_per_step):
            step = token_ids[start : start + self.tokens_per_step]
            for index, token_id in enumerate(step):
                if request.constraint is not None:
                    allowed = request.constraint.accept_token(token_id)
                    written = self.vocabulary.token_bytes.get(token_id, token_id)
                    assert allowed, f"token {start + index} ({written!r}) of {text!r} is refused"
            yield RequestOutput(request.request_id, tuple(step), self._logprobs(request, step))
        is_whole = request.constraint is None or request.constraint.is_complete
        assert reason is FinishReason.LENGTH or is_whole, f"{text!r} is not complete"
        missing = None
        if request.constraint is not None and reason is FinishReason.LENGTH:
            missing = request.constraint.min_tokens_to_complete()
        yield RequestOutput(
            request.request_id,
            (),
            (),
            reason,
            was_closed=self.was_closed,
            num_missing_tokens=missing,
        )

    def _follow(self, request: Request) -> Iterator[RequestOutput]:
        """Take the token that ends soonest of those that the mask allows."""
        constraint = request.constraint
        assert constraint is not None
        row = np.zeros(self.vocabulary.num_words, np.int32)
        end = self.vocabulary.end_token_ids[0]
        for number in range(request.sampling.max_tokens):
            constraint.fill_bitmask(row)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            assert len(allowed) > 0, f"the mask is empty after {number} tokens"
            token_id = min(map(int, allowed), key=lambda token: _PREFERENCE.get(token, 256))
            if end in allowed:
                break
            assert constraint.accept_token(token_id)
            yield RequestOutput(
                request.request_id, (token_id,), self._logprobs(request, [token_id])
            )
        is_whole = constraint.is_complete
        reason = FinishReason.STOP if is_whole else FinishReason.LENGTH
        yield RequestOutput(request.request_id, (), (), reason)

    def _logprobs(self, request: Request, token_ids: list[int]) -> tuple[TokenLogprobs, ...]:
        count = request.sampling.num_logprobs
        if count is None:
            return ()
        top = tuple((other, -1.0 - other) for other in range(count))
        return tuple(TokenLogprobs(token_id, -0.5, top) for token_id in token_ids)
