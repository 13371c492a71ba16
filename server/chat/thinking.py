"""Thinking: what the rendered prompt says of a reasoning block before the answer."""

from __future__ import annotations

from enum import Enum

THINK_OPEN = "<think>"
THINK_CLOSE = "</think>"


class Thinking(Enum):
    """Where the answer stands to a `<think>` block."""

    NONE = "none"  # the model does not think, or the prompt has closed the block already
    OPEN = "open"  # the prompt ends inside a block: the answer begins with thoughts
    OPTIONAL = "optional"  # the model may open a block itself


def thinking_of(rendered: str, *, may_think: bool) -> Thinking:
    """Read the state from the prompt itself, so that no default is assumed anywhere.

    Args:
        rendered: the prompt text, in which the caller's texts cannot spell the tags.
        may_think: whether the model opens blocks by itself where the prompt says nothing.
    """
    if rendered.rfind(THINK_OPEN) > rendered.rfind(THINK_CLOSE):
        return Thinking.OPEN
    if rendered.rstrip().endswith(THINK_CLOSE) or not may_think:
        return Thinking.NONE
    return Thinking.OPTIONAL
