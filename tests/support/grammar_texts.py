"""Whole texts judged by a compiled spec, read byte by byte with the plain reference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammars.limits import CompileLimits
from grammars.masks.reference import ReferenceWalk
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from tests.support.byte_vocabulary import byte_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grammars.masks.reference import PlainConfiguration
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

    def accepts_in_some_order(self, value: Any) -> bool:
        """Whether the value is allowed with the keys of its objects in some order.

        Whole numbers are written as digits alone.
        """
        start = self._walk.start(self.states.root)
        return any(map(self._walk.is_complete, self._after(start, value)))

    def _after(self, start: PlainConfiguration, value: Any) -> Iterator[PlainConfiguration]:
        """Where reading the value can lead."""
        if isinstance(value, dict):
            yield from self._after_members(start, value, "{")
        elif isinstance(value, list):
            yield from self._after_elements(start, value)
        else:
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            yield from self._read(start, json.dumps(value, ensure_ascii=False))

    def _after_members(
        self, start: PlainConfiguration, members: dict[str, Any], before: str
    ) -> Iterator[PlainConfiguration]:
        if not members:
            yield from self._read(start, "{}" if before == "{" else "}")
        for key in members:
            others = {name: value for name, value in members.items() if name != key}
            for colon in self._read(start, f"{before}{json.dumps(key, ensure_ascii=False)}: "):
                for end in self._after(colon, members[key]):
                    yield from self._after_members(end, others, ", ")

    def _after_elements(
        self, start: PlainConfiguration, elements: list[Any]
    ) -> Iterator[PlainConfiguration]:
        ends = list(self._read(start, "["))
        for index, element in enumerate(elements):
            commas = [c for end in ends for c in self._read(end, ", " if index else "")]
            ends = [end for comma in commas for end in self._after(comma, element)]
        for end in ends:
            yield from self._read(end, "]")

    def _read(self, start: PlainConfiguration, text: str) -> Iterator[PlainConfiguration]:
        read = self._walk.read(start, text.encode())
        if read is not None:
            yield read
