"""Admission: what a request must satisfy to enter the queue; it cannot fail for it later."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Protocol

from engine.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.request import Request, SamplingParams


class RequestLimits(Protocol):
    """What admission needs of the configuration; `ResolvedConfig` has its shape."""

    @property
    def max_model_len(self) -> int:
        """Tokens of prompt and output together."""
        ...

    @property
    def max_logprobs(self) -> int:
        """Likeliest tokens that a request may ask for at each position."""
        ...

    @property
    def max_listed_tokens(self) -> int:
        """Entries of a request's `logit_bias`, and of its `stop_token_ids`."""
        ...


_REPETITION_PENALTIES: Final = (1e-3, 1e3)
"""Far beyond what is of use, and far from where a logit times or divided by it overflows."""


def check_request(request: Request, config: RequestLimits, padded_vocab_size: int) -> None:
    """Refuse a request that could never run, or that asks for something undefined.

    Raises:
        InvalidRequestError: names the field and the way out.
    """
    scores_only = request.sampling.max_tokens == 0 and request.prompt_scoring is not None
    max_prompt_len = config.max_model_len - (not scores_only)
    _check_prompt(request.prompt_token_ids, max_prompt_len, config, padded_vocab_size)
    if not scores_only:
        given = request.sampling.max_tokens
        _check(given >= 1, "max_tokens", given, "must be at least 1")
    _check_numbers(request.sampling)
    _check_lists(request.sampling, config, padded_vocab_size)
    _check_scoring(request, config)
    if request.on_length == "close":
        _check_closing(request, config)


def check_unused(request: Request, live: Iterable[Request]) -> None:
    """Refuse a request whose id, or whose constraint, is that of one under way.

    Raises:
        InvalidRequestError: names the field and the way out.
    """
    for other in live:
        if other.request_id == request.request_id:
            raise InvalidRequestError("request_id", f"{request.request_id} is in use")
        if request.constraint is not None and other.constraint is request.constraint:
            raise InvalidRequestError(
                "constraint",
                f"it is the state of {other.request_id}; make one for each request",
            )


def _check_prompt(
    token_ids: tuple[int, ...], max_len: int, config: RequestLimits, padded_vocab_size: int
) -> None:
    if not token_ids:
        raise InvalidRequestError(
            "prompt_token_ids", "the prompt is empty; give at least one token"
        )
    if len(token_ids) > max_len:
        raise InvalidRequestError(
            "prompt_token_ids",
            f"the prompt has {len(token_ids)} tokens, but prompt and output together may have "
            f"{config.max_model_len}; shorten the prompt",
        )
    _check_token_ids("prompt_token_ids", token_ids, padded_vocab_size)


def _check_numbers(sampling: SamplingParams) -> None:
    _check(
        0 <= sampling.min_tokens <= sampling.max_tokens,
        "min_tokens",
        sampling.min_tokens,
        f"must be from 0 to max_tokens={sampling.max_tokens}",
    )
    _check(
        math.isfinite(sampling.temperature) and sampling.temperature >= 0,
        "temperature",
        sampling.temperature,
        "must be a finite number, 0 or more",
    )
    _check(0 < sampling.top_p <= 1, "top_p", sampling.top_p, "must be above 0 and at most 1")
    _check(0 <= sampling.min_p < 1, "min_p", sampling.min_p, "must be at least 0 and below 1")
    if sampling.top_k is not None:
        _check(sampling.top_k >= 1, "top_k", sampling.top_k, "must be at least 1; None is off")
    for name in ("presence_penalty", "frequency_penalty"):
        value = getattr(sampling, name)
        _check(-2 <= value <= 2, name, value, "must be from -2 to 2")
    low, high = _REPETITION_PENALTIES
    _check(
        low <= sampling.repetition_penalty <= high,
        "repetition_penalty",
        sampling.repetition_penalty,
        f"must be from {low:g} to {high:g}; 1 is off",
    )


def _check_lists(sampling: SamplingParams, config: RequestLimits, padded_vocab_size: int) -> None:
    if sampling.num_logprobs is not None:
        _check(
            0 <= sampling.num_logprobs <= config.max_logprobs,
            "num_logprobs",
            sampling.num_logprobs,
            f"must be from 0 to max_logprobs={config.max_logprobs}",
        )
    for name, listed in (
        ("logit_bias", sampling.logit_bias),
        ("stop_token_ids", sampling.stop_token_ids),
        ("bad_words", [token_id for word in sampling.bad_words for token_id in word]),
    ):
        if len(listed) > config.max_listed_tokens:
            raise InvalidRequestError(
                name,
                f"{len(listed)} entries are more than max_listed_tokens={config.max_listed_tokens}",
            )
        _check_token_ids(name, listed, padded_vocab_size)
    if not all(sampling.bad_words):
        raise InvalidRequestError("bad_words", "a word without tokens; leave it out")
    for token_id, bias in sampling.logit_bias.items():
        if not -100 <= bias <= 100:
            raise InvalidRequestError(
                "logit_bias", f"{bias} for token {token_id} must be from -100 to 100"
            )


def _check_scoring(request: Request, config: RequestLimits) -> None:
    scoring, prompt_len = request.prompt_scoring, len(request.prompt_token_ids)
    if scoring is not None:
        _check(
            1 <= scoring.start <= prompt_len,
            "prompt_scoring.start",
            scoring.start,
            f"must be from 1 to the prompt's {prompt_len} tokens",
        )
        _check(
            0 <= scoring.num_top <= config.max_logprobs,
            "prompt_scoring.num_top",
            scoring.num_top,
            f"must be from 0 to max_logprobs={config.max_logprobs}",
        )


def _check_closing(request: Request, config: RequestLimits) -> None:
    """A text that is to close in time must fit at all."""
    if request.constraint is None:
        raise InvalidRequestError("on_length", "close needs a constraint; free text has no end")
    room = config.max_model_len - len(request.prompt_token_ids)
    max_tokens = min(request.sampling.max_tokens, room)
    try:
        needed = request.constraint.min_tokens_to_complete()
    except Exception as error:
        raise InvalidRequestError(
            "on_length", f"close is not possible with this constraint: {error}"
        ) from error
    _check(
        max_tokens >= needed,
        "max_tokens",
        max_tokens,
        f"is too little for a complete text, which needs up to {needed} tokens",
    )


def _check_token_ids(name: str, token_ids: Iterable[int], padded_vocab_size: int) -> None:
    for token_id in token_ids:
        if not 0 <= token_id < padded_vocab_size:
            raise InvalidRequestError(
                name, f"{token_id} is not a token id; they run from 0 to {padded_vocab_size - 1}"
            )


def _check(is_right: bool, name: str, value: float, rule: str) -> None:
    if not is_right:
        raise InvalidRequestError(name, f"{value} {rule}")
