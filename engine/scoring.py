"""Scoring: the log probabilities of given continuations, by requests that generate nothing."""

from __future__ import annotations

import asyncio
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


async def score(
    engine: RequestRunner,
    prompt_token_ids: tuple[int, ...],
    continuations: Iterable[Sequence[int]],
    *,
    request_id: str,
    cache_salt: bytes = b"",
) -> list[list[float]]:
    """Score continuations of one prompt, which is computed once.

    Cancelling it, or the failure of one continuation, aborts all.

    Args:
        engine: runs one request for each continuation.
        prompt_token_ids: at least one id.
        continuations: each at least one id.
        request_id: the requests' ids are made from it.
        cache_salt: see `Request`.

    Returns:
        For each continuation the natural log of the model's own probability of each of its tokens,
        given everything before; their sum is that of the continuation.

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


async def _run(engine: RequestRunner, request: Request) -> list[float]:
    logprobs: list[float] = []
    async for output in engine.generate(request):
        if output.finish_reason in {FinishReason.ERROR, FinishReason.ABORT}:
            raise RequestFailedError(output.error or "the request was aborted")
        logprobs += [entry.logprob for entry in output.prompt_logprobs]
    return logprobs
