"""Whole texts judged by a compiled spec, read byte by byte with the plain reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.limits import CompileLimits
from grammars.masks.reference import ReferenceWalk
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from tests.support.byte_vocabulary import byte_vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammars.spec import Part


class TextJudge:
    """Judges whole texts under a spec.

    Args:
        part: what texts are allowed.
        controls: spellings of control tokens that the vocabulary has.
    """

    def __init__(
        self, part: Part, *, controls: tuple[str, ...] = (), limits: CompileLimits | None = None
    ) -> None:
        self.vocabulary = byte_vocabulary(controls)
        self.tables = AutomatonTables()
        self.states = StructuralStates(
            part, self.tables, self.vocabulary, limits or CompileLimits()
        )
        self._walk = ReferenceWalk(self.tables, self.states, self.vocabulary)

    def accepts(self, text: str | Sequence[str | int]) -> bool:
        """Whether the text is allowed as a whole; an int in a list is a control symbol."""
        pieces = [text] if isinstance(text, str) else text
        symbols = [
            symbol
            for piece in pieces
            for symbol in ([piece] if isinstance(piece, int) else piece.encode())
        ]
        read = self._walk.read(self._walk.start(self.states.root), symbols)
        return read is not None and self._walk.is_complete(read)
