"""Terminals: what a structural state reads next, as values that say how it is spelled and no more.

Two states with equal terminals share one lexer, across all grammars of the process; what reading a
terminal leads to stands beside it, in `transitions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from grammars.automata.string_rest import ENDED

if TYPE_CHECKING:
    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa
    from grammars.automata.string_rest import StringRest
    from grammars.cfg.lexers import ScanLexer
    from grammars.pushdown.free_text import Watched
    from grammars.schema.plans import AllBut
    from grammars.schema.value import StringSet


@dataclass(frozen=True, slots=True)
class Word:
    """Given bytes and control tokens, then perhaps a gap.

    Args:
        pieces: bytes, and symbols of control tokens.
        gap: bytes that may follow, or b"".
    """

    pieces: tuple[bytes | int, ...]
    gap: bytes = b""

    @property
    def name(self) -> str:
        """A word for drawings."""
        return "".join(
            piece.decode(errors="replace") if isinstance(piece, bytes) else f"<{piece}>"
            for piece in self.pieces
        )


@dataclass(frozen=True, slots=True)
class Key:
    """A declared key, its colon, and what separates it from the member before.

    Args:
        spelling: the key as a JSON string.
        follows: a comma (and perhaps a gap) comes first.
        gap: bytes that may stand after a comma and a colon, or b"".
    """

    spelling: bytes
    follows: bool
    gap: bytes

    @property
    def name(self) -> str:
        """A word for drawings."""
        return f"{', ' if self.follows else ''}{self.spelling.decode()}:"


@dataclass(frozen=True, slots=True)
class OtherKey:
    """An undeclared key, its colon, and what separates it from the member before.

    Args:
        keys: the language of the key.
        follows: as in `Key`.
        gap: as in `Key`.
        is_canonical: whether the key has one spelling only.
    """

    keys: CodePointDfa | AllBut
    follows: bool
    gap: bytes
    is_canonical: bool = False

    @property
    def name(self) -> str:
        """A word for drawings."""
        return f"{', ' if self.follows else ''}other key:"


@dataclass(frozen=True, slots=True)
class Numbers:
    """A number of a set."""

    numbers: Dfa

    @property
    def name(self) -> str:
        """A word for drawings."""
        return "number"


@dataclass(frozen=True, slots=True)
class Strings:
    """A string of a set, with its quotes.

    Args:
        strings: the set.
        is_counted: its length is checked by the state's character counter, not by the lexer. Then
            `strings` is the set without its bounds.
        is_canonical: whether each string has one spelling only, as those of restricted sets have.
    """

    strings: StringSet
    is_counted: bool
    is_canonical: bool = False

    @property
    def name(self) -> str:
        """A word for drawings."""
        return "string"


@dataclass(frozen=True, slots=True)
class StringPiece:
    """The next characters of a string in canonical spelling, see `automata.string_rest`.

    Args:
        rest: the string, as far as it matters within the piece.
        length: characters of the piece.
        is_open: whether the opening quote has been read.
        label: of the piece: the string has ended, or which rest is left.
    """

    rest: StringRest
    length: int
    is_open: bool
    label: int

    @property
    def key(self) -> tuple[StringRest, int, bool]:
        """The automaton that the label is of."""
        return self.rest, self.length, self.is_open

    @property
    def is_ended(self) -> bool:
        """Whether the string has ended with it."""
        return self.label == ENDED

    @property
    def name(self) -> str:
        """A word for drawings."""
        return "string" if self.is_ended else f"string, {self.length} characters"


@dataclass(frozen=True, slots=True)
class StringTail:
    """All that is left of a string, its closing quote included.

    Args:
        rest: what is left.
        is_counted: as in `Strings`.
    """

    rest: StringRest
    is_counted: bool
    is_open: ClassVar[bool] = True
    is_ended: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """A word for drawings."""
        return "rest of a string"


@dataclass(frozen=True, slots=True)
class Match:
    """A non-empty text of an automaton over UTF-8 bytes."""

    texts: Dfa
    pattern: str

    @property
    def name(self) -> str:
        """A word for drawings."""
        return f"/{self.pattern}/"


@dataclass(frozen=True, slots=True)
class TextUntil:
    """Free text, up to one of the ways in which it can end.

    Args:
        watched: what ends it; the same for all endings of one free text.
        end_label: the label of just ending, or NO_LABEL.
        label: the ending that this terminal stands for.
    """

    watched: tuple[Watched, ...]
    end_label: int
    label: int

    @property
    def name(self) -> str:
        """A word for drawings."""
        ending = next((w.spelling for w in self.watched if w.label == self.label), b"")
        return f"text {ending.decode(errors='replace')}".rstrip()


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a lexer of a grammar has read when one of its labels fires."""

    lexer: ScanLexer
    label: int

    @property
    def name(self) -> str:
        """A word for drawings."""
        return "grammar"


Terminal: TypeAlias = (
    Word
    | Key
    | OtherKey
    | Numbers
    | Strings
    | StringPiece
    | StringTail
    | Match
    | TextUntil
    | Scanned
)
