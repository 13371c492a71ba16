"""NeededTokens: how many tokens complete a text after each token, by the automaton alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.masks.content_tokens import read_content
from grammars.masks.string_costs import MANY
from grammars.masks.token_rests import beginning, rests_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from grammars.automata.string_rest import StringRest
    from grammars.masks.completion import Completion
    from grammars.masks.configuration import Configuration
    from grammars.masks.steps import Steps
    from grammars.masks.string_places import StringPlace, StringPlaces
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.masks.trie import Trie

    Needed: TypeAlias = NDArray[np.int32]
    """int32, (padded_size,): tokens that complete the text after each token, or REFUSED."""

    Door: TypeAlias = tuple[Trie, int]

REFUSED: Final = -1


class NeededTokens:
    """All methods need `AutomatonTables.lock`, and may raise what the expander raises.

    Args:
        tokens: of the vocabulary.
        steps: from one configuration to the next.
        places: in strings that are read in pieces.
        completion: what is needed after such strings.
        num_tokens: what a configuration needs.
        num_spare: tokens that are needed beyond those of `completion`.
    """

    def __init__(
        self,
        tokens: TokenSymbols,
        steps: Steps,
        places: StringPlaces,
        completion: Completion,
        num_tokens: Callable[[Configuration], int],
        num_spare: int = 0,
    ) -> None:
        self._tokens = tokens
        self._steps = steps
        self._places = places
        self._completion = completion
        self._num_tokens = num_tokens
        self._num_spare = num_spare

    def find(self, start: Configuration) -> Needed:
        """What is needed after each token from a configuration.

        The pieces of long strings are left out as in `LongStrings`.
        """
        needed = self._nothing()
        pending: list[Door] = [(self._tokens.trie, 0)]
        if self._places.find(start.state, start.lexer) is None:
            pending = self._walk(needed, start, self._tokens.trie, halts=True)
        while pending:
            trie, node = pending.pop()
            at = self._steps.after_symbols(start, beginning(self._tokens, trie, node))
            assert at is not None, "it has been walked"
            strings = self._places.find(at.state, at.lexer)
            if strings is None:  # the same lexer reads other strings in other states
                return self.find_by_walk(start)
            pending += self._walk_strings(needed, start, at, (trie, node), strings)
        return needed

    def find_by_walk(self, start: Configuration) -> Needed:
        """The same, through all pieces; the plain reference."""
        needed = self._nothing()
        self._walk(needed, start, self._tokens.trie, halts=False)
        return needed

    def _nothing(self) -> Needed:
        return np.full(len(self._tokens.begin), REFUSED, np.int32)

    def _walk(self, needed: Needed, at: Configuration, trie: Trie, *, halts: bool) -> list[Door]:
        """Add the tokens of a trie that are read from a configuration; the doors on the way."""
        ends, following, doors = self._steps.after_each(at, trie, halts=halts)
        found = [self._num_tokens(after) for after in following]
        is_read = ends != 0
        needed[is_read] = np.array(found, np.int32)[ends[is_read] - 1]
        return [(trie, node) for node in doors]

    def _walk_strings(
        self,
        needed: Needed,
        start: Configuration,
        at: Configuration,
        door: Door,
        strings: Sequence[StringPlace],
    ) -> list[Door]:
        """Add the tokens that are read behind a door; the doors behind these strings."""
        trie, node = door
        row = np.zeros((len(needed) + 31) // 32, np.uint32)
        places = [np.zeros((len(needed), 2), np.int32) for _ in strings]
        doors: list[Door] = []
        for nodes in read_content(trie, node, strings, row, places):
            after = self._steps.after_symbols(start, beginning(self._tokens, trie, nodes[0]))
            assert after is not None, "the strings end here"
            rests = rests_of(self._tokens, trie, nodes)
            needed[rests.tokens_between(0, 1)] = self._num_tokens(after)
            doors += self._walk(needed, after, rests, halts=True)
        self._add_inside(needed, at, [x.rest for x in strings], places)
        return doors

    def _add_inside(
        self,
        needed: Needed,
        at: Configuration,
        rests: Sequence[StringRest],
        places: Sequence[NDArray[np.int32]],
    ) -> None:
        """Add the tokens that end inside of strings, at these places."""
        token_ids = np.flatnonzero(np.any([noted[:, 0] != DEAD for noted in places], axis=0))
        fewest = np.full(len(token_ids), MANY, np.int32)
        there = [noted[token_ids] for noted in places]
        for indices, num_tokens, action in self._completion.strings.ways(at.state, rests, there):
            num_after = self._completion.num_tokens_after(action, at.below) + self._num_spare
            fewest[indices] = np.minimum(fewest[indices], num_tokens + num_after)
        needed[token_ids] = fewest
