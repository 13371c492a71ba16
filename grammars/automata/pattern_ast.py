"""The syntax tree of a pattern: what is left when groups, laziness and escapes are gone.

Lookaround and word boundaries would be further node kinds, to be resolved by automata operations
where a pattern becomes an NFA (`pattern_dfa`).
"""

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


Node: TypeAlias = Characters | Concatenation | Alternation | Repetition | Anchor

EMPTY = Concatenation(())
