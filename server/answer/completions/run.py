"""Completions, run together: streamed, or returned in one body."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from server.answer.bodies import usage_body
from server.answer.completions.choice import CompletionChoice
from server.answer.completions.logprobs import joined
from server.answer.failures import told_failure
from server.answer.length_note import length_note
from server.answer.stream import DONE, sse
from server.error_answers import error_body
from server.generation import Generation, Usage
from server.merging import merged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from server.answer.bodies import AnswerHead, Json
    from server.answer.completions.choice import CompletionPiece
    from server.completions import AdmittedCompletion
    from server.reply.spelling import Spellings
    from server.services import Services

_KIND = "text_completion"


class CompletionRun:
    """All choices of a request: those of the first prompt, then those of the second, and so on.

    Args:
        completions: what was admitted.
        services: what the engine is reached by.
        spellings: of the model's tokens.

    Raises:
        InvalidValueError: the engine could never run one of them.
    """

    def __init__(
        self,
        completions: Sequence[AdmittedCompletion],
        services: Services,
        spellings: Spellings,
    ) -> None:
        self._completions = completions
        self._spellings = spellings
        self._generations = [Generation(completion.chat, services) for completion in completions]
        self._n = completions[0].chat.num_choices

    @property
    def num_choices(self) -> int:
        """Texts that are written."""
        return len(self._completions) * self._n

    @property
    def usage(self) -> Usage:
        """Tokens of all prompts and choices so far."""
        usages = [generation.usage for generation in self._generations]
        return Usage(
            num_prompt_tokens=sum(usage.num_prompt_tokens for usage in usages),
            num_cached_tokens=sum(usage.num_cached_tokens for usage in usages),
            num_completion_tokens=sum(usage.num_completion_tokens for usage in usages),
        )

    async def pieces(self) -> AsyncGenerator[tuple[int, CompletionPiece], None]:
        """Pairs of the index of a choice and what it gains, until all have finished.

        Raises:
            ServerError: a choice failed; the others are aborted.
        """
        choices = [
            CompletionChoice(completion, self._spellings)
            for completion in self._completions
            for _ in range(self._n)
        ]
        steps = merged([generation.steps() for generation in self._generations])
        async with aclosing(steps):
            async for prompt, (choice, step) in steps:
                index = prompt * self._n + choice
                piece = choices[index].step(step)
                if piece is not None:
                    yield index, piece


async def whole_completion(run: CompletionRun, head: AnswerHead) -> Json:
    """Run all choices to their end and return them in one body.

    Raises:
        ServerError: one of them failed.
    """
    pieces: list[list[CompletionPiece]] = [[] for _ in range(run.num_choices)]
    async with aclosing(run.pieces()) as all_pieces:
        async for index, piece in all_pieces:
            pieces[index].append(piece)
    choices = []
    for index, parts in enumerate(pieces):
        logprobs = [part.logprobs for part in parts if part.logprobs is not None]
        text = "".join(part.text for part in parts)
        told = joined(logprobs) if logprobs else None
        choices.append(_choice(index, text, told, parts[-1].finish))
    body = head.fields(_KIND) | {"choices": choices, "usage": usage_body(run.usage)}
    return body | length_note({index: parts[-1] for index, parts in enumerate(pieces)})


async def streamed_completion(
    run: CompletionRun, head: AnswerHead, *, with_usage: bool
) -> AsyncGenerator[bytes, None]:
    """Run all choices and encode what they gain as server-sent events, `[DONE]` at the end.

    A failure becomes an error event, behind which the stream ends.
    """
    rest: Json = {"usage": None} if with_usage else {}
    try:
        async with aclosing(run.pieces()) as pieces:
            async for index, piece in pieces:
                choice = _choice(index, piece.text, piece.logprobs, piece.finish)
                body = head.fields(_KIND) | {"choices": [choice]} | rest
                yield sse(body | length_note({index: piece}))
    except Exception as error:  # noqa: BLE001  # whatever it is, the stream must tell
        yield sse(error_body(told_failure(error, head.answer_id)))
        return
    if with_usage:
        yield sse(head.fields(_KIND) | {"choices": [], "usage": usage_body(run.usage)})
    yield DONE


def _choice(index: int, text: str, logprobs: Json | None, finish: str | None) -> Json:
    return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish}
