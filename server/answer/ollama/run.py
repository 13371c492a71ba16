"""A generation in Ollama's shape: as lines of JSON while it runs, or as one body."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from server.answer.bodies import logprobs_content
from server.answer.failures import told_failure
from server.answer.ollama.pieces import Piece, PieceReader, joined
from server.error_shapes import ErrorShape, shaped_error

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from grammars.vocabulary import Vocabulary
    from server.answer.bodies import Json
    from server.answer.ollama.bodies import Clock, PartWriter
    from server.generation import Generation
    from server.reply.choice import FinishName


@dataclass(frozen=True, slots=True)
class _Step:
    """What one step adds; `finish` is set on the last."""

    piece: Piece
    logprobs: list[Json]
    finish: FinishName | None


class OllamaRun:
    """Runs one generation.

    Args:
        generation: of one choice.
        writer: of its parts.
        clock: started when the request was admitted.
        vocabulary: of the model.
    """

    def __init__(
        self, generation: Generation, writer: PartWriter, clock: Clock, vocabulary: Vocabulary
    ) -> None:
        self._generation = generation
        self._writer = writer
        self._clock = clock
        self._vocabulary = vocabulary

    async def whole(self) -> Json:
        """Run it to its end.

        Raises:
            ServerError: the generation failed.
        """
        async with aclosing(self._steps()) as steps:
            told = [step async for step in steps]
        logprobs = [entry for step in told for entry in step.logprobs]
        return self._last(joined(step.piece for step in told), told[-1].finish, logprobs)

    async def lines(self, request_id: str) -> AsyncGenerator[bytes, None]:
        """Run it, with a line for each step; a failure becomes a last line with an error."""
        held: list[Json] = []  # logprobs of tokens whose text is still held back
        try:
            async with aclosing(self._steps()) as steps:
                async for step in steps:
                    held += step.logprobs
                    if step.finish is not None:
                        yield line(self._last(step.piece, step.finish, held))
                    elif step.piece:
                        yield line(self._writer.part(step.piece, held))
                        held = []
        except Exception as error:  # noqa: BLE001  # whatever it is, the stream must tell
            failure = told_failure(error, request_id)
            yield line(shaped_error(failure, ErrorShape.OLLAMA, request_id))

    async def _steps(self) -> AsyncGenerator[_Step, None]:
        reader = PieceReader()
        is_first = True
        async with aclosing(self._generation.steps()) as steps:
            async for _, step in steps:
                if is_first:
                    self._clock.write()
                    is_first = False
                logprobs = logprobs_content(self._vocabulary, step.logprobs)
                yield _Step(reader.read(step.events), logprobs, step.finish)

    def _last(self, piece: Piece, finish: FinishName | None, logprobs: list[Json]) -> Json:
        """Calls end an answer as text does: these clients look for them in the message."""
        reason = "length" if finish == "length" else "stop"
        times = self._clock.body(self._generation.usage)
        return self._writer.last(piece, reason, times, logprobs)


def line(body: Json) -> bytes:
    """One line of a stream (newline-delimited JSON)."""
    return msgspec.json.encode(body) + b"\n"
