"""LongStrings: tokens inside strings that are read in many pieces, found without the pieces.

Behind a long list of strings lie hundreds of pieces (`string_reading`), and tokens reach into most
of them. So a mask does not walk there. What can be read of the string is read of its content, the
list itself (`content_tokens`); where a token goes on behind the closing quote, all of the same
strings go on from one configuration. Only the pieces on the way there are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from grammars.automata.content_bytes import BETWEEN, ContentPlace, content_bytes
from grammars.automata.dfa import DEAD
from grammars.automata.json_spelling import QUOTE
from grammars.automata.reach import first_ways
from grammars.masks.content_tokens import sort_by_content
from grammars.masks.token_sorting import sort_strings
from grammars.masks.trie import build_trie
from grammars.masks.walk_part import Part

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from grammars.automata.content_bytes import ContentBytes
    from grammars.automata.dfa import Dfa
    from grammars.masks.configuration import Configuration
    from grammars.masks.runner import Runner
    from grammars.masks.steps import Steps
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.masks.trie import Trie
    from grammars.pushdown.actions import Expander
    from grammars.pushdown.tables import AutomatonTables

    Door: TypeAlias = tuple[Trie, int]
    Places: TypeAlias = list[tuple[ContentBytes, ContentPlace]]


class LongStrings:
    """All methods need `AutomatonTables.lock`, and may raise what the expander raises.

    Args:
        tables: the automaton.
        expander: makes what the tables lack.
        tokens: of the vocabulary.
        runner: calls the kernels.
        steps: from one configuration to the next.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        expander: Expander,
        tokens: TokenSymbols,
        runner: Runner,
        steps: Steps,
    ) -> None:
        self._tables = tables
        self._expander = expander
        self._tokens = tokens
        self._runner = runner
        self._steps = steps
        self._ways: WeakKeyDictionary[Dfa, NDArray[np.int32]] = WeakKeyDictionary()

    def fill(self, row: NDArray[np.uint32], start: Configuration) -> int | None:
        """Write the row of the tokens that can be read from inside such strings.

        Args:
            row: uint32, (num_words,); all of it is written, without end tokens.
            start: where the text is.

        Returns:
            How many frames below the top it depends on; None where it is not inside such strings,
            or behind a door there are others.
        """
        if self._expander.cut_strings(start.state) is None:
            return None
        row.fill(0)
        found = self._fill_behind(row, start, start, (self._tokens.trie, 0))
        return None if found is None else self.add(row, start, *found)

    def add(
        self,
        row: NDArray[np.uint32],
        start: Configuration,
        num_frames: int,
        doors: tuple[Door, ...],
    ) -> int | None:
        """Add the tokens behind doors to a row, and those behind the doors that are found there.

        Args:
            row: uint32, (num_words,).
            start: where the text is; all tokens are read from there.
            num_frames: that were looked at on the way to the doors.
            doors: see `Walked`.

        Returns:
            As `fill` does.
        """
        pending = [*doors]
        while pending:
            trie, node = pending.pop()
            at = self._steps.after_symbols(start, self._beginning(trie, node))
            assert at is not None, "it has been walked"
            found = self._fill_behind(row, start, at, (trie, node))
            if found is None:
                return None
            num_frames = max(num_frames, found[0])
            pending += found[1]
        return num_frames

    def _fill_behind(
        self, row: NDArray[np.uint32], start: Configuration, at: Configuration, door: Door
    ) -> tuple[int, tuple[Door, ...]] | None:
        """Add the tokens behind one door: frames looked at, and other doors.

        None where there are no such strings: the same lexer reads other strings in other states.
        """
        places = self._places(at)
        if places is None:
            return None
        trie, node = door
        strings_of_exit: dict[int, int] = {}  # bits of the strings that end at a node
        for bit, (content, place) in enumerate(places):
            if place.state != DEAD:
                exits = sort_by_content(
                    trie.nodes, trie.token_ids, node, place.state, place.node, row, *content
                )
                for leaving in exits.tolist():
                    strings_of_exit[leaving] = strings_of_exit.get(leaving, 0) | 1 << bit
        num_frames = 0
        doors: tuple[Door, ...] = ()
        for strings in set(strings_of_exit.values()):
            nodes = [leaving for leaving, ended in strings_of_exit.items() if ended == strings]
            after = self._steps.after_symbols(start, self._beginning(trie, nodes[0]))
            assert after is not None, "the strings end here"
            rests = self._rests(trie, nodes)
            walked = self._runner.walk(row, after, Part(rests, halts=True))
            num_gone = max(0, start.depth - after.depth)
            num_frames = max(num_frames, num_gone, num_gone + walked.num_frames)
            doors += walked.doors
        return num_frames, doors

    def _places(self, configuration: Configuration) -> Places | None:
        """Where a text is in each of the strings that it may be in; None where it is in none."""
        cut = self._expander.cut_strings(configuration.state)
        if cut is None:
            return None
        dfa, local = self._tables.lexers.locate(configuration.lexer)
        begun = self._shortest(dfa, local)
        if not cut.is_open:
            if begun[:1] != bytes((QUOTE,)):
                return None
            begun = begun[1:]
        contents = [content_bytes(rest.content) for rest in cut.rests]
        return [
            (content, content.after(ContentPlace(rest.state, BETWEEN), begun))
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

    def _beginning(self, trie: Trie, node: int) -> NDArray[np.uint16]:
        """What some token has been read when a walk is at a node, from the token's first symbol."""
        token_id, num_left = trie.first_token(node)
        string = self._tokens.string(token_id)
        return string[: len(string) - num_left]

    def _rests(self, trie: Trie, nodes: list[int]) -> Trie:
        """The trie of what is left to read of all tokens that have come to some nodes."""
        found = [trie.lengths_below(node) for node in nodes]
        token_ids = np.concatenate([tokens for tokens, _ in found])
        end = self._tokens.end[token_ids]
        begin = end - np.concatenate([lengths for _, lengths in found])
        order = sort_strings(self._tokens.symbols, begin, end)
        return build_trie(self._tokens.symbols, begin[order], end[order], token_ids[order])
