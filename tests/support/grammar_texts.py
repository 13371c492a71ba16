"""Whole texts judged by a compiled spec, read byte by byte with the plain reference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammars.limits import CompileLimits
from grammars.masks.distinct_point import DistinctPoint
from grammars.masks.distinct_walk import DistinctWalk
from grammars.masks.reference import ReferenceWalk
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from tests.support.byte_vocabulary import byte_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
        self._plain = ReferenceWalk(self.tables, self.states, self.vocabulary)
        self._walk = DistinctWalk(self._plain, self.states, self.tables)
        self._start = DistinctPoint(self._plain.start(self.states.root))

    def accepts(self, text: str | Sequence[str | int]) -> bool:
        """Whether the text is allowed as a whole; an int in a list is a control symbol."""
        pieces = [text] if isinstance(text, str) else text
        symbols = [
            symbol
            for piece in pieces
            for symbol in ([piece] if isinstance(piece, int) else piece.encode())
        ]
        read = self._walk.read(self._start, symbols)
        return read is not None and self._is_complete(read)

    def accepts_in_some_order(self, value: Any) -> bool:
        """Whether the value is allowed with the keys of its objects in some order.

        Whole numbers are written as digits alone.
        """
        return any(map(self._is_complete, self._after(self._start, value)))

    def _is_complete(self, point: DistinctPoint) -> bool:
        return self._plain.is_complete(point.plain)

    def _after(self, start: DistinctPoint, value: Any) -> Iterator[DistinctPoint]:
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
        self, start: DistinctPoint, members: dict[str, Any], before: str
    ) -> Iterator[DistinctPoint]:
        if not members:
            yield from self._read(start, "{}" if before == "{" else "}")
        for key in members:
            others = {name: value for name, value in members.items() if name != key}
            for colon in self._read(start, f"{before}{json.dumps(key, ensure_ascii=False)}: "):
                for end in self._after(colon, members[key]):
                    yield from self._after_members(end, others, ", ")

    def _after_elements(self, start: DistinctPoint, elements: list[Any]) -> Iterator[DistinctPoint]:
        ends = list(self._read(start, "["))
        for index, element in enumerate(elements):
            commas = [c for end in ends for c in self._read(end, ", " if index else "")]
            ends = [end for comma in commas for end in self._after(comma, element)]
        for end in ends:
            yield from self._read(end, "]")

    def _read(self, start: DistinctPoint, text: str) -> Iterator[DistinctPoint]:
        read = self._walk.read(start, text.encode())
        if read is not None:
            yield read
