"""From the sampling fields of a request to the engine's `SamplingParams`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.request import SamplingParams
from server.request_errors import InvalidValueError

if TYPE_CHECKING:
    from grammars.vocabulary import Vocabulary
    from server.wire.chat_request import ChatCompletionRequest

_MIN_TEMPERATURE = 1e-5
"""Below it a temperature acts as 0: dividing logits by less only overflows."""


def sampling_params(
    request: ChatCompletionRequest,
    vocabulary: Vocabulary,
    *,
    num_prompt_tokens: int,
    max_model_len: int,
) -> SamplingParams:
    """The parameters of a request; the choices differ by `choice_seed` alone.

    * Of `max_tokens` and `max_completion_tokens` the smaller counts, cut to the context's room.
    * `top_p` 0 and temperatures below 1e-5 mean greedy.
    * The vocabulary's end tokens end free text, whatever the model's configuration lists. Under a
      grammar the engine lets neither them nor `stop_token_ids` cut an incomplete text.

    Raises:
        InvalidValueError: a token id outside the vocabulary, or min_tokens above max_tokens.
    """
    max_tokens = min([max_model_len - num_prompt_tokens, *_limits(request).values()])
    min_tokens = request.min_tokens or 0
    if min_tokens > max_tokens:
        raise InvalidValueError(
            "min_tokens", f"{min_tokens} is more than the {max_tokens} that the answer may have"
        )
    temperature = 1.0 if request.temperature is None else request.temperature
    if temperature < _MIN_TEMPERATURE or request.top_p == 0:
        temperature = 0.0
    stop_token_ids = tuple(request.stop_token_ids or ())
    for token_id in stop_token_ids:
        check_token_id("stop_token_ids", token_id, vocabulary)
    if not request.ignore_eos:
        stop_token_ids += vocabulary.end_token_ids
    return SamplingParams(
        max_tokens=max_tokens,
        temperature=temperature,
        top_p=request.top_p or 1.0,
        top_k=request.top_k if request.top_k is not None and request.top_k > 0 else None,
        min_p=request.min_p or 0.0,
        presence_penalty=request.presence_penalty or 0.0,
        frequency_penalty=request.frequency_penalty or 0.0,
        repetition_penalty=request.repetition_penalty or 1.0,
        seed=request.seed,
        logit_bias=_logit_bias(request, vocabulary),
        num_logprobs=(request.top_logprobs or 0) if request.logprobs else None,
        logprobs_of=request.logprobs_of or "choice",
        stop_token_ids=stop_token_ids,
        ignore_eos=bool(request.ignore_eos),
        min_tokens=min_tokens,
    )


def limit_name(request: ChatCompletionRequest) -> str:
    """The field whose value is the limit of an answer, or would be."""
    limits = _limits(request)
    return min(limits, key=limits.__getitem__, default="max_tokens")


def choice_seed(seed: int | None, choice: int) -> int | None:
    """The seed of the choice with this index: choices of one request differ, repeats agree."""
    return None if seed is None else (seed + choice) % 2**63


def _logit_bias(request: ChatCompletionRequest, vocabulary: Vocabulary) -> dict[int, float]:
    biases: dict[int, float] = {}
    for key, bias in (request.logit_bias or {}).items():
        if not (key.isascii() and key.isdecimal() and len(key) <= 10):
            raise InvalidValueError("logit_bias", f"the key {key[:32]!r} is not a token id")
        check_token_id("logit_bias", int(key), vocabulary)
        biases[int(key)] = bias
    return biases


def check_token_id(param: str, token_id: int, vocabulary: Vocabulary) -> None:
    """Check an id that a caller has given.

    Raises:
        InvalidValueError: it lies outside of the vocabulary.
    """
    if token_id >= vocabulary.padded_size:
        raise InvalidValueError(
            param,
            f"{token_id} is not a token id; the vocabulary has {vocabulary.padded_size}",
        )


def _limits(request: ChatCompletionRequest) -> dict[str, int]:
    """The limits of an answer that are given, by field."""
    given = {
        "max_tokens": request.max_tokens,
        "max_completion_tokens": request.max_completion_tokens,
    }
    return {name: limit for name, limit in given.items() if limit is not None}
