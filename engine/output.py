"""What the engine delivers of a request: token ids as they come, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FinishReason(Enum):
    """Why a sequence ended."""

    STOP = "stop"  # an end token, or a constraint that cannot go on
    LENGTH = "length"  # max_tokens or the context length, and the text may lack something
    ABORT = "abort"  # the caller went away
    ERROR = "error"  # this request failed; `RequestOutput.error` says how


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Log probabilities at one position, natural log, always finite.

    Args:
        token_id: the sampled token.
        logprob: of the sampled token, before temperature; see `SamplingParams.logprobs_of`.
        top: (token id, logprob), likeliest first; impossible tokens are left out.
    """

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...]


@dataclass(slots=True)
class RequestWork:
    """What one request has cost.

    Args:
        num_forward_passes: steps that it took part in.
        num_computed_tokens: tokens that went through the model for it, rejected drafts included.
        num_cached_tokens: prompt tokens whose keys and values were there already.
        num_forced_tokens: output tokens that were not sampled, because nothing else could follow.
        num_draft_tokens: guessed tokens that were tried.
        num_accepted_draft_tokens: those of them that became output.
        num_preemptions: how often it lost its blocks to an older request.
    """

    num_forward_passes: int = 0
    num_computed_tokens: int = 0
    num_cached_tokens: int = 0
    num_forced_tokens: int = 0
    num_draft_tokens: int = 0
    num_accepted_draft_tokens: int = 0
    num_preemptions: int = 0


@dataclass(frozen=True, slots=True)
class RequestOutput:
    """What one step added to one request.

    Args:
        request_id: whose.
        token_ids: new tokens, end tokens left out; more than one where text was forced or drafts
            were right; may be empty on the last output and while a prompt is scored.
        logprobs: one entry per token of `token_ids` when asked for, else empty.
        finish_reason: None until the last output.
        error: a sentence, set exactly when finish_reason is ERROR.
        num_cached_tokens: prompt tokens served from the prefix cache.
        prompt_logprobs: of the next prompt tokens, where `PromptScoring` asks for them.
        was_closed: on the last output of a request with `on_length="close"`: whether the limit
            has narrowed what could be written. The reason is then STOP and the text complete.
        num_missing_tokens: on the last output of a constrained request with the reason LENGTH: how
            many more tokens would surely have completed the text; None where that is unknown.
        work: what the request has cost; on the last output only.
    """

    request_id: str
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprobs, ...] = ()
    finish_reason: FinishReason | None = None
    error: str | None = None
    num_cached_tokens: int = 0
    prompt_logprobs: tuple[TokenLogprobs, ...] = ()
    was_closed: bool = False
    num_missing_tokens: int | None = None
    work: RequestWork | None = None
