"""Tracing: one span a chat, made by whoever is asked to; by default there are none."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """What a span has of a chat before it runs; None: not asked for.

    Args:
        model: the name in the answer.
        num_choices: answers asked for.
        max_tokens: of an answer.
        temperature: of the sampler.
        top_p: of the sampler.
        seed: of the sampler.
    """

    model: str
    num_choices: int = 1
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ChatOutcome:
    """What a span has of a chat that has ended, well or not.

    Args:
        num_prompt_tokens: of the prompt, once.
        num_cached_tokens: those of them that were not computed.
        num_completion_tokens: of all answers.
        finish_reasons: of each answer that has ended.
        missing_tokens: of each constrained answer that the limit has cut: how many more would have
            completed it, where that is known.
        error: what has failed.
    """

    num_prompt_tokens: int
    num_cached_tokens: int
    num_completion_tokens: int
    finish_reasons: tuple[str, ...]
    missing_tokens: tuple[int, ...]
    error: BaseException | None


class ChatSpan(Protocol):
    """The span of one chat."""

    def end(self, outcome: ChatOutcome) -> None:
        """The chat has ended; called once."""
        ...


class Tracing(Protocol):
    """Makes spans."""

    def incoming(self, headers: Mapping[str, str]) -> AbstractContextManager[None]:
        """Within it spans belong to the trace that the client's headers name."""
        ...

    def start_chat(self, request: TracedRequest) -> ChatSpan:
        """A chat begins."""
        ...


class NoTracing:
    """Tells nothing to nobody."""

    def incoming(self, headers: Mapping[str, str]) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    def start_chat(self, request: TracedRequest) -> ChatSpan:  # noqa: ARG002
        return _NoSpan()


class _NoSpan:
    def end(self, outcome: ChatOutcome) -> None:
        pass
