"""LongStrings: tokens inside strings that are read in many pieces, found without the pieces.

Behind a long list of strings lie hundreds of pieces (`string_reading`), and tokens reach into most
of them. So a mask does not walk there. What can be read of the string is read of its content, the
list itself (`content_tokens`); where a token goes on behind the closing quote, all of the same
strings go on from one configuration. Only the pieces on the way there are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.masks.content_tokens import read_content
from grammars.masks.string_places import StringPlaces
from grammars.masks.token_rests import beginning, rests_of
from grammars.masks.walk_part import Part

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    from grammars.masks.configuration import Configuration
    from grammars.masks.runner import Runner
    from grammars.masks.steps import Steps
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.masks.trie import Trie
    from grammars.pushdown.actions import Expander
    from grammars.pushdown.tables import AutomatonTables

    Door: TypeAlias = tuple[Trie, int]


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
        self._expander = expander
        self._tokens = tokens
        self._runner = runner
        self._steps = steps
        self._places = StringPlaces(tables, expander)

    def fill(self, row: NDArray[np.uint32], start: Configuration) -> int | None:
        """Write the row of the tokens that can be read from inside such strings.

        Args:
            row: uint32, (num_words,); all of it is written, without end tokens.
            start: where the text is.

        Returns:
            How many frames below the top it depends on; None where it is not inside such strings,
            or behind a door there are others.
        """
        cut = self._expander.cut_strings(start.state)
        if cut is None or not cut.are_many:
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
            at = self._steps.after_symbols(start, beginning(self._tokens, trie, node))
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
        strings = self._places.find(at.state, at.lexer)
        if strings is None:
            return None
        trie, node = door
        num_frames = 0
        doors: tuple[Door, ...] = ()
        for nodes in read_content(trie, node, strings, row):
            after = self._steps.after_symbols(start, beginning(self._tokens, trie, nodes[0]))
            assert after is not None, "the strings end here"
            rests = rests_of(self._tokens, trie, nodes)
            walked = self._runner.walk(row, after, Part(rests, halts=True))
            num_gone = max(0, start.depth - after.depth)
            num_frames = max(num_frames, num_gone, num_gone + walked.num_frames)
            doors += walked.doors
        return num_frames, doors
