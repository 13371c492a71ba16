"""Thinking: what the rendered prompt says of a block of thoughts before the answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


@dataclass(frozen=True, slots=True)
class ThoughtTags:
    """The tags around thoughts.

    Args:
        open: begins the block.
        close: ends it, where it is first written.
    """

    open: str
    close: str


THINK: Final = ThoughtTags("<think>", "</think>")
"""Qwen, DeepSeek, and most others."""

MISTRAL_THINK: Final = ThoughtTags("[THINK]", "[/THINK]")
"""Magistral."""

THOUGHT_TAGS: Final = (THINK, MISTRAL_THINK)


class Thinking(Enum):
    """Where the answer stands to a block of thoughts."""

    NONE = "none"  # the model does not think, or the prompt has closed the block already
    OPEN = "open"  # the prompt ends inside a block: the answer begins with thoughts
    OPTIONAL = "optional"  # the model may open a block itself


def thinking_of(rendered: str, tags: ThoughtTags, *, may_think: bool) -> Thinking:
    """Read the state from the prompt itself, so that no default is assumed anywhere.

    Args:
        rendered: the prompt text, in which the caller's texts cannot spell the tags.
        tags: those of the model.
        may_think: whether the model opens blocks by itself where the prompt says nothing.
    """
    if rendered.rfind(tags.open) > rendered.rfind(tags.close):
        return Thinking.OPEN
    if rendered.rstrip().endswith(tags.close) or not may_think:
        return Thinking.NONE
    return Thinking.OPTIONAL
