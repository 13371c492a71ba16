"""Request: what was asked of the engine, frozen; what is going on with it lives in `Sequence`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.constraint import Constraint, TokenAutomaton


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How tokens are chosen. The constraint's mask is always applied last, whatever is set here.

    Args:
        max_tokens: generated tokens at most, >= 1; 0 only with `Request.prompt_scoring`.
        temperature: 0 is greedy; otherwise logits are divided by it.
        top_p: nucleus, in (0, 1]; 1 is off.
        top_k: keep the k likeliest; None is off.
        min_p: drop tokens less likely than min_p times the likeliest, in [0, 1); 0 is off.
        presence_penalty: subtracted once from every generated token's logit, in [-2, 2].
        frequency_penalty: subtracted for each occurrence of a generated token, in [-2, 2].
        repetition_penalty: divides (positive) or multiplies (negative) logits of tokens in prompt
            and output (CTRL, arXiv:1909.05858, section 4.1), in [0.001, 1000]; 1 is off.
        seed: seed of this request's own generator; None draws a fresh one.
        logit_bias: token id -> added to its logit, each in [-100, 100].
        num_logprobs: None: no logprobs; k >= 0: those of the sampled token and of the k likeliest.
        logprobs_of: "choice": of the distribution that tokens are chosen from, after penalties,
            bias and mask, so of allowed tokens only; "model": of the model's own, before them.
        stop_token_ids: extra ids that end the sequence (kept out of the output).
        bad_words: sequences of ids that the output shall not contain, where the constraint leaves
            another choice.
        ignore_eos: end-of-sequence ids do not end an unconstrained sequence.
        min_tokens: end tokens are suppressed before this many tokens, where the constraint allows.
    """

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int | None = None
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    num_logprobs: int | None = None
    logprobs_of: Literal["choice", "model"] = "choice"
    stop_token_ids: tuple[int, ...] = ()
    bad_words: tuple[tuple[int, ...], ...] = ()
    ignore_eos: bool = False
    min_tokens: int = 0


@dataclass(frozen=True, slots=True)
class PromptScoring:
    """Asks for the log probabilities of prompt tokens under the model's own distribution.

    Args:
        start: of the prompt tokens from this index on, >= 1: the first has no distribution.
        num_top: also of this many likeliest tokens at each place.
    """

    start: int = 1
    num_top: int = 0


@dataclass(frozen=True, slots=True)
class Request:
    """One sequence to generate.

    Args:
        request_id: unique among the live requests; made by us, never by a client.
        prompt_token_ids: at least one id.
        sampling: see `SamplingParams`.
        constraint: a fresh matcher, owned by the engine from now on; None is free text.
        cache_salt: the caller's. Requests share keys and values of equal beginnings only if their
            salts are equal, so that nobody can time what others have sent; callers take turns in
            the queue.
        on_length: what `max_tokens` does to a constrained text: "cut" it wherever it is, or have
            it "close" in time, so that it is complete.
        prompt_scoring: None: prompt tokens are not scored.
        automaton: the constraint as tables, where it is finite: it allows the same tokens at each
            place. With it, tokens can be chosen on the device without asking the constraint.
    """

    request_id: str
    prompt_token_ids: tuple[int, ...]
    sampling: SamplingParams
    constraint: Constraint | None = None
    cache_salt: bytes = b""
    on_length: Literal["cut", "close"] = "cut"
    prompt_scoring: PromptScoring | None = None
    automaton: TokenAutomaton | None = None
