"""Scoring: the log probabilities of given continuations, by requests that generate nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engine.errors import RequestFailedError
from engine.output import FinishReason
from engine.request import PromptScoring, Request, SamplingParams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence

    from engine.output import RequestOutput


class RequestRunner(Protocol):
    """Runs requests; `AsyncEngine` has its shape."""

    def generate(self, request: Request) -> AsyncGenerator[RequestOutput, None]:
        """The outputs of one request, the last with a finish reason."""
        ...


@dataclass(frozen=True, slots=True)
class Score:
    """What the model thinks of one continuation.

    Args:
        logprobs: for each of its tokens the natural log of the model's own probability, given
            everything before; their sum is that of the continuation.
        num_cached_tokens: prompt tokens that had been computed before.
    """

    logprobs: tuple[float, ...]
    num_cached_tokens: int


async def score(
    engine: RequestRunner,
    prompt_token_ids: tuple[int, ...],
    continuations: Iterable[Sequence[int]],
    *,
    request_id: str,
    cache_salt: bytes = b"",
) -> list[Score]:
    """Score continuations of one prompt, which is computed once.

    Cancelling it, or the failure of one continuation, aborts all.

    Args:
        engine: runs one request for each continuation.
        prompt_token_ids: at least one id.
        continuations: each at least one id.
        request_id: the requests' ids are made from it.
        cache_salt: see `Request`.

    Returns:
        The score of each continuation.

    Raises:
        InvalidRequestError: prompt and a continuation are too long together, or have other faults.
        RequestFailedError: a continuation could not be scored.
        EngineDeadError: the engine has stopped.
    """
    requests = [
        scoring_request(f"{request_id}-{index}", prompt_token_ids, tokens, cache_salt=cache_salt)
        for index, tokens in enumerate(continuations)
    ]
    tasks = [asyncio.create_task(_run(engine, request)) for request in requests]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def scoring_request(
    request_id: str,
    prompt_token_ids: tuple[int, ...],
    continuation: Sequence[int],
    *,
    cache_salt: bytes = b"",
) -> Request:
    """A request whose outputs have the scores of one continuation in `prompt_logprobs`."""
    return Request(
        request_id,
        (*prompt_token_ids, *continuation),
        SamplingParams(max_tokens=0, temperature=0.0),
        cache_salt=cache_salt,
        prompt_scoring=PromptScoring(start=len(prompt_token_ids)),
    )


async def _run(engine: RequestRunner, request: Request) -> Score:
    logprobs: list[float] = []
    num_cached_tokens = 0
    async for output in engine.generate(request):
        if output.finish_reason in {FinishReason.ERROR, FinishReason.ABORT}:
            raise RequestFailedError(output.error or "the request was aborted")
        logprobs += [entry.logprob for entry in output.prompt_logprobs]
        num_cached_tokens = output.num_cached_tokens
    return Score(tuple(logprobs), num_cached_tokens)
