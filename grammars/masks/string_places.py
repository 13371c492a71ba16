"""StringPlaces: where a text is inside the strings that are read in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from grammars.automata.content_bytes import BETWEEN, ContentPlace, content_bytes
from grammars.automata.json_spelling import QUOTE
from grammars.automata.reach import first_ways

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from grammars.automata.content_bytes import ContentBytes
    from grammars.automata.dfa import Dfa
    from grammars.automata.string_rest import StringRest
    from grammars.pushdown.actions import Expander
    from grammars.pushdown.tables import AutomatonTables


class StringPlace(NamedTuple):
    """Where a text is in one string.

    Args:
        rest: the string, as its state has it.
        content: of it, as bytes.
        place: in the content; its state is DEAD where the text is in no such string.
    """

    rest: StringRest
    content: ContentBytes
    place: ContentPlace


class StringPlaces:
    """All methods need `AutomatonTables.lock`.

    Args:
        tables: the automaton.
        expander: tells of such strings.
    """

    def __init__(self, tables: AutomatonTables, expander: Expander) -> None:
        self._tables = tables
        self._expander = expander
        self._ways: WeakKeyDictionary[Dfa, NDArray[np.int32]] = WeakKeyDictionary()

    def find(self, state: int, lexer: int) -> list[StringPlace] | None:
        """Where a text is in each of the strings that it may be in; None where it is in none.

        Args:
            state: the structural state.
            lexer: the global lexer state.
        """
        cut = self._expander.cut_strings(state)
        if cut is None:
            return None
        dfa, local = self._tables.lexers.locate(lexer)
        begun = self._shortest(dfa, local)
        if not cut.is_open:
            if begun[:1] != bytes((QUOTE,)):
                return None
            begun = begun[1:]
        contents = [content_bytes(rest.content) for rest in cut.rests]
        return [
            StringPlace(rest, content, content.after(ContentPlace(rest.state, BETWEEN), begun))
            for content, rest in zip(contents, cut.rests, strict=True)
        ]

    def _shortest(self, dfa: Dfa, state: int) -> bytes:
        """Bytes that lead from the start of an automaton to a state: all that do are alike."""
        ways = self._ways.get(dfa)
        if ways is None:
            ways = self._ways[dfa] = first_ways(dfa.next_state, dfa.symbol_class, dfa.start)
        data = bytearray()
        while state != dfa.start:
            state, byte = ways[state].tolist()
            data.append(byte)
        return bytes(reversed(data))
