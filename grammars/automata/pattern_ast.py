"""The syntax tree of a pattern: what is left when groups, laziness and escapes are gone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from grammars.automata.charset import CharSet


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set."""

    members: CharSet


@dataclass(frozen=True, slots=True)
class Concatenation:
    """All parts in order; no parts: the empty string."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Any one of the options, at least two."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """`part` minimum .. maximum times (None: no bound)."""

    part: Node
    minimum: int
    maximum: int | None


class Anchor(Enum):
    """A place in the text; it reads nothing."""

    START = "^"
    END = "$"
    WORD_BOUNDARY = r"\b"
    NO_WORD_BOUNDARY = r"\B"


@dataclass(frozen=True, slots=True)
class Look:
    """A lookaround: a place in the text told by what is beside it; it reads nothing.

    Args:
        part: what must match, beginning here (ahead) or ending here (behind).
        is_ahead: lookahead, else lookbehind.
        is_negated: it must not match.
    """

    part: Node
    is_ahead: bool
    is_negated: bool


Node: TypeAlias = Characters | Concatenation | Alternation | Repetition | Anchor | Look
