"""The bodies of Ollama's answers: parts of a stream, the last of them, and whole answers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.answer.bodies import Json
    from server.answer.ollama.pieces import Piece
    from server.generation import Usage


class AnswerKind(Enum):
    """Of which path an answer is."""

    CHAT = "/api/chat"
    GENERATE = "/api/generate"


class Clock:
    """Times of one answer, all in nanoseconds."""

    def __init__(self) -> None:
        self._arrived = self._started = self._wrote = time.perf_counter_ns()

    def start(self) -> None:
        """The request is admitted; the prompt is computed from now on."""
        self._started = self._wrote = time.perf_counter_ns()

    def write(self) -> None:
        """The first output is there."""
        self._wrote = time.perf_counter_ns()

    def body(self, usage: Usage) -> Json:
        """The counts and durations of an answer that ends now; nothing is ever loaded for it."""
        now = time.perf_counter_ns()
        return {
            "total_duration": now - self._arrived,
            "load_duration": 0,
            "prompt_eval_count": usage.num_prompt_tokens,
            "prompt_eval_duration": self._wrote - self._started,
            "eval_count": usage.num_completion_tokens,
            "eval_duration": now - self._wrote,
        }


@dataclass(frozen=True, slots=True)
class PartWriter:
    """Writes the parts of one answer.

    Args:
        model: the name that is answered with.
        kind: of which path the answer is.
    """

    model: str
    kind: AnswerKind

    def part(self, piece: Piece, logprobs: Sequence[Json] = ()) -> Json:
        """A part that is not the last."""
        return self._body(piece, logprobs) | {"done": False}

    def last(self, piece: Piece, reason: str, times: Json, logprobs: Sequence[Json] = ()) -> Json:
        """The last part, or the only one.

        Args:
            piece: what it adds.
            reason: why the answer ended: "stop", "length", or "load" where none was asked for.
            times: of `Clock.body`.
            logprobs: of its tokens.
        """
        return self._body(piece, logprobs) | {"done": True, "done_reason": reason} | times

    def _body(self, piece: Piece, logprobs: Sequence[Json]) -> Json:
        created_at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        body: Json = {"model": self.model, "created_at": created_at} | self._told(piece)
        return body | {"logprobs": list(logprobs)} if logprobs else body

    def _told(self, piece: Piece) -> Json:
        thoughts: Json = {"thinking": piece.thoughts} if piece.thoughts else {}
        match self.kind:
            case AnswerKind.CHAT:
                calls: Json = {"tool_calls": list(piece.calls)} if piece.calls else {}
                message: Json = {"role": "assistant", "content": piece.text}
                return {"message": message | thoughts | calls}
            case AnswerKind.GENERATE:
                return {"response": piece.text} | thoughts
            case _:
                assert_never(self.kind)
