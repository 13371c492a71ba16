"""StringEnds: what it takes to end strings that are read in pieces, found without the pieces.

As masks do (`long_strings`), it reads the content of the strings: the shortest text from each place
to the closing quote is found once a content, for all places together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

from grammars.automata.content_bytes import BETWEEN, content_bytes
from grammars.automata.content_ends import content_ends, ends_beside
from grammars.automata.dfa import DEAD
from grammars.automata.json_spelling import QUOTE
from grammars.masks.string_costs import tokens_to_end
from grammars.masks.string_places import StringPlaces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.string_rest import StringRest
    from grammars.masks.token_spelling import TokenSpelling
    from grammars.pushdown.actions import Action, Expander
    from grammars.pushdown.tables import AutomatonTables

    Places: TypeAlias = NDArray[np.int32]
    """int32, (num_places, 2): a `ContentPlace` for each of some places."""

_NOTHING: Final = np.zeros(0, np.uint8)
_OPENING: Final = np.full(1, QUOTE, np.uint8)


class StringEnds:
    """All methods need `AutomatonTables.lock`, and may raise what the expander raises.

    Args:
        tables: the automaton.
        expander: tells of such strings, and of what follows them.
        spelling: the tokens.
    """

    def __init__(
        self, tables: AutomatonTables, expander: Expander, spelling: TokenSpelling
    ) -> None:
        self._expander = expander
        self._places = StringPlaces(tables, expander)
        self._trie = spelling.trie
        self._fewest: WeakKeyDictionary[CodePointDfa, NDArray[np.int32]] = WeakKeyDictionary()
        self._actions: dict[tuple[int, tuple[StringRest, ...]], Action] = {}

    def opening(self, state: int) -> list[tuple[int, Action]]:
        """The ways to the ends of the strings that a state opens.

        For each string the tokens of its shortest text, and what happens when it has ended.
        """
        cut = self._expander.cut_strings(state)
        if cut is None or cut.is_open:
            return []
        places = [_single(rest.state, BETWEEN) for rest in cut.rests]
        return self._single_ways(state, cut.rests, places, _OPENING)

    def inside(self, state: int, lexer: int) -> list[tuple[int, Action]] | None:
        """The ways to the ends of the strings that a text is in; None where it is in none."""
        found = self._places.find(state, lexer)
        if found is None:
            return None
        rests = [x.rest for x in found]
        places = [_single(*x.place) for x in found]
        return self._single_ways(state, rests, places, _NOTHING)

    def ways(
        self,
        state: int,
        rests: Sequence[StringRest],
        places: Sequence[Places],
        before: NDArray[np.uint8] = _NOTHING,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int32], Action]]:
        """The same for many places at once.

        Args:
            state: the structural state.
            rests: its strings.
            places: for each of these, where it is in each place.
            before: uint8; bytes to be read before.

        Yields:
            Indices of places, int32 the tokens from each, and what happens behind all of these.
        """
        for number, rest in enumerate(rests):
            content, ends = content_bytes(rest.content)[:], content_ends(rest.content)
            fewest = self._fewest.get(rest.content)
            if fewest is None:
                fewest = self._fewest[rest.content] = np.zeros(len(ends.byte), np.int32)
            num_tokens = tokens_to_end(
                before, places[number], content, ends[:], fewest,
                self._trie.nodes, self._trie.children,
            )  # fmt: skip
            ended = np.array(
                [
                    places[number][:, 0] != DEAD
                    if other is rest
                    else ends_beside(
                        places[number], content, ends[:], beside, content_bytes(other.content)[:]
                    )
                    for other, beside in zip(rests, places, strict=True)
                ]
            )
            for together in np.unique(ended[:, ended[number]], axis=1).T:
                indices = np.flatnonzero((together == ended.T).all(axis=1))
                same = tuple([rests[other] for other in np.flatnonzero(together).tolist()])
                yield indices, num_tokens[indices], self._action(state, same)

    def _single_ways(
        self,
        state: int,
        rests: Sequence[StringRest],
        places: Sequence[Places],
        before: NDArray[np.uint8],
    ) -> list[tuple[int, Action]]:
        found = self.ways(state, rests, places, before)
        return [(int(num_tokens[0]), action) for _, num_tokens, action in found]

    def _action(self, state: int, ended: tuple[StringRest, ...]) -> Action:
        known = self._actions.get((state, ended))
        if known is None:
            known = self._actions[state, ended] = self._expander.after_strings(state, ended)
        return known


def _single(state: int, node: int) -> Places:
    return np.array([[state, node]], np.int32)
