"""MaskMaker: the tokens that the automaton allows in a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from grammars.errors import UnsatisfiableError
from grammars.masks.mask_cache import MaskCache
from grammars.masks.reference import PlainConfiguration, ReferenceWalk
from grammars.masks.rows import row_of
from grammars.masks.slice_cache import SliceCache, SliceView
from grammars.pushdown.layout import LexerColumn, StateColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.configuration import Configuration
    from grammars.masks.long_strings import LongStrings
    from grammars.masks.mask_cache import TopKey
    from grammars.masks.rows import MaskRow, RowPool
    from grammars.masks.runner import Runner
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.masks.walk_part import Walked
    from grammars.pushdown.actions import Expander
    from grammars.pushdown.tables import AutomatonTables
    from grammars.vocabulary import Vocabulary

MaskWay: TypeAlias = Literal["slices", "walk", "reference"]

MIN_LEADING_BYTES: Final = 24
"""A lexer state that fewer bytes lead on from is walked as fast as a slice could be looked up."""


class MaskMaker:
    """Makes rows and keeps them; all methods need `AutomatonTables.lock`.

    Args:
        tables: the automaton.
        expander: makes what the tables lack.
        vocabulary: the tokens.
        tokens: of the vocabulary.
        runner: calls the kernels.
        rows: where rows are kept.
        long_strings: reads what lies behind doors.
        way: how a new row is made, see `AutomatonGrammar`.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        expander: Expander,
        vocabulary: Vocabulary,
        tokens: TokenSymbols,
        runner: Runner,
        rows: RowPool,
        long_strings: LongStrings,
        way: MaskWay,
    ) -> None:
        self._tables = tables
        self._vocabulary = vocabulary
        self._tokens = tokens
        self._runner = runner
        self._rows = rows
        self._slices = vocabulary.derive(SliceCache) if way == "slices" else None
        self._reference = (
            ReferenceWalk(tables, expander, vocabulary) if way == "reference" else None
        )
        self._long_strings = long_strings if way == "slices" else None
        self._row = np.empty(vocabulary.num_words, np.uint32)  # of the mask being made
        self._masks = MaskCache()
        self._sources: dict[int, int | None] = {}  # by lexer state

    def __len__(self) -> int:
        return len(self._masks)

    def clear(self) -> None:
        """Forget what belongs to which configuration."""
        self._masks.clear()

    def find(self, configuration: Configuration) -> MaskRow:
        """The row of a configuration.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
            UnsatisfiableError: the text can go on with bytes only that no token spells.
        """
        key = self._key(configuration)
        row = self._masks.find(key, configuration.below)
        if row is None:
            row, num_frames_seen = self._make(configuration)
            self._masks.store(key, configuration.below, num_frames_seen, row)
        return row

    def _make(self, configuration: Configuration) -> tuple[MaskRow, int]:
        words, num_frames_seen = self._text_words(configuration)
        if configuration.is_complete:
            words |= self._rows.end_row
        row = self._rows.intern(words)
        if not row.has_text and not configuration.is_complete:
            raise UnsatisfiableError("the text can go on with bytes only that no token spells")
        return row, num_frames_seen

    def _text_words(self, configuration: Configuration) -> tuple[NDArray[np.uint32], int]:
        """The row without end tokens, and how many frames below the top it depends on."""
        if self._reference is not None:
            return self._reference_words(self._reference, configuration)
        if self._long_strings is None:
            return self._row, self._walk(configuration, halts=False).num_frames
        num_frames = self._long_strings.fill(self._row, configuration)
        if num_frames is None:
            walked = self._walk(configuration, halts=True)
            num_frames = walked.num_frames
            if walked.doors:
                num_frames = self._long_strings.add(self._row, configuration, *walked)
        if num_frames is None:
            num_frames = self._walk(configuration, halts=False).num_frames
        return self._row, num_frames

    def _walk(self, configuration: Configuration, *, halts: bool) -> Walked:
        """Write the row by walks, see `Part`."""
        source = self._find_source(configuration.lexer)
        is_wide = source is not None and not self._is_hidden(source, configuration.state)
        view = self._find_slice(source) if source is not None and is_wide else None
        return self._runner.fill(self._row, configuration, view, is_wide=is_wide, halts=halts)

    def _find_source(self, lexer: int) -> int | None:
        """The lexer state whose slice a lexer state takes."""
        if lexer not in self._sources:
            self._sources[lexer] = self._new_source(lexer)
        return self._sources[lexer]

    def _new_source(self, lexer: int) -> int | None:
        if self._slices is None or self._tables.lexers.num_leading(lexer) < MIN_LEADING_BYTES:
            return None
        dfa, local = self._tables.lexers.locate(lexer)
        return lexer + self._slices.find_source(dfa, local) - local

    def _is_hidden(self, source: int, state: int) -> bool:
        """Whether some tokens of the slice of a lexer state lead to what is not read here."""
        hidden = ~self._tables.state_row(state)[StateColumn.WINDOW]
        return hidden != 0 and (
            self._tables.lexers.row(source)[LexerColumn.REACH] & hidden != 0
            or len(self._tables.lexers.far_labels(source)) > 0
        )

    def _find_slice(self, source: int) -> SliceView | None:
        assert self._slices is not None
        found = self._slices.find(*self._tables.lexers.locate(source))
        return None if found is None else SliceView(*found, source)

    def _reference_words(
        self, reference: ReferenceWalk, configuration: Configuration
    ) -> tuple[NDArray[np.uint32], int]:
        below = () if configuration.below is None else configuration.below.states()
        plain = PlainConfiguration(
            configuration.state,
            configuration.lexer,
            configuration.counted,
            configuration.is_fresh,
            below,
        )
        words = row_of(reference.allowed_token_ids(plain), self._vocabulary.num_words)
        return words & ~self._rows.end_row, len(below)

    def _key(self, configuration: Configuration) -> TopKey:
        return (
            configuration.state,
            configuration.lexer,
            self._clip(configuration),
            configuration.is_complete,
        )

    def _clip(self, configuration: Configuration) -> int:
        """The least count that no single token can tell from this one."""
        fewest, most = self._tables.count_bounds(configuration.state)
        counted = configuration.counted
        reach = counted + self._tokens.longest
        if most is not None and reach + self._tables.lexers.most_owed(configuration.lexer) > most:
            return counted
        if counted >= fewest:
            return fewest
        return counted if reach >= fewest else 0
