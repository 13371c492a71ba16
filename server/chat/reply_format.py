"""ReplyFormat: how one model writes its answers: its calls and its thoughts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.calls.formats import HERMES
from server.chat.thinking import THINK

if TYPE_CHECKING:
    from server.calls.syntax import CallSyntax
    from server.chat.thinking import ThoughtTags


@dataclass(frozen=True, slots=True)
class ReplyFormat:
    """Fixed for a model; the grammar and the parser of every answer follow it.

    Args:
        calls: how tool calls are written.
        thoughts: the tags around thoughts.
    """

    calls: CallSyntax = HERMES
    thoughts: ThoughtTags = THINK

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags: control tokens of some vocabularies, plain text in others."""
        return (self.thoughts.open, self.thoughts.close, *self.calls.tags)
