"""What the engine tells about a request: token ids as they come, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FinishReason(Enum):
    """Why a sequence ended."""

    STOP = "stop"  # an end token, or a constraint that cannot go on
    LENGTH = "length"  # max_tokens or the context length
    ABORT = "abort"  # the caller went away
    ERROR = "error"  # this request failed; `RequestOutput.error` says how


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Log probabilities at one position, natural log, always finite.

    Args:
        token_id: the sampled token.
        logprob: of the sampled token under the distribution after the mask and before temperature.
        top: (token id, logprob), likeliest first; only tokens that the constraint allows.
    """

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class RequestOutput:
    """What one step added to one request.

    Args:
        request_id: whose.
        token_ids: new tokens, end tokens left out; may be empty on the last output.
        logprobs: one entry per token of `token_ids` when asked for, else empty.
        finish_reason: None until the last output.
        error: a sentence, set exactly when finish_reason is ERROR.
        num_cached_tokens: prompt tokens served from the prefix cache.
    """

    request_id: str
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprobs, ...] = ()
    finish_reason: FinishReason | None = None
    error: str | None = None
    num_cached_tokens: int = 0
