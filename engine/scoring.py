"""Scoring: the log probabilities of given continuations, as requests that generate nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.request import PromptScoring, Request, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Sequence


def scoring_request(
    request_id: str,
    prompt_token_ids: tuple[int, ...],
    continuation: Sequence[int],
    *,
    cache_salt: bytes = b"",
) -> Request:
    """A request that scores one continuation; requests with one prompt compute it once.

    Its outputs hold one entry for each token of the continuation in `prompt_logprobs`: the natural
    log of the model's own probability of it, given everything before. Their sum is that of the
    continuation.
    """
    return Request(
        request_id,
        (*prompt_token_ids, *continuation),
        SamplingParams(max_tokens=0, temperature=0.0),
        cache_salt=cache_salt,
        prompt_scoring=PromptScoring(start=len(prompt_token_ids)),
    )
