"""AutomatonGrammar: a compiled grammar; what is found out about it is shared by all texts."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.errors import UnsatisfiableError
from grammars.masks.ahead import always, expand_ahead
from grammars.masks.completion import Completion
from grammars.masks.configuration import ConfigurationTable
from grammars.masks.distinct_configurations import DistinctConfigurations
from grammars.masks.exploration import explore
from grammars.masks.forced import settled_tokens
from grammars.masks.mask_cache import MaskCache
from grammars.masks.matcher import Matcher
from grammars.masks.reference import PlainConfiguration, ReferenceWalk
from grammars.masks.rows import RowPool
from grammars.masks.runner import Runner
from grammars.masks.slice_cache import SliceCache
from grammars.masks.token_symbols import build_token_symbols
from grammars.masks.walk import (
    COUNTED,
    IS_COMPLETE,
    IS_FRESH,
    LEXER,
    NUM_DROPPED,
    NUM_PUSHED,
    PUSHED,
    STATE,
)
from grammars.pushdown.layout import LexerColumn, StateColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from grammars.device_tables import DeviceBudget, DeviceTables
    from grammars.masks.configuration import Configuration
    from grammars.masks.mask_cache import TopKey
    from grammars.masks.rows import MaskRow
    from grammars.masks.slice_cache import SliceView
    from grammars.protocol import Bitmask
    from grammars.pushdown.actions import Expander
    from grammars.pushdown.structural import StructuralStates
    from grammars.pushdown.tables import AutomatonTables
    from grammars.vocabulary import Vocabulary

MaskWay: TypeAlias = Literal["slices", "walk", "reference"]

DEFAULT_CACHE_BYTES: Final = 64 * 2**20

_CONFIGURATION_BYTES: Final = 1200
_ENTRY_BYTES: Final = 250
"""Rough sizes of what Python keeps: a configuration; a known step or an entry of the mask cache."""


class AutomatonGrammar:
    """The automaton of a grammar over the tokens of a vocabulary; implements `CompiledGrammar`.

    Safe to use from several threads: what is known is read without a lock, everything else happens
    under the lock of the tables.

    Args:
        tables: the automaton.
        expander: makes what the tables lack.
        root: the structural state in which texts begin.
        vocabulary: the tokens.
        max_cache_bytes: about how much known masks and steps may take; at that they are forgotten.
        way: how a new mask is made; all three give the same. "slices" shares what lexer states
            have in common, "walk" walks the whole vocabulary each time, "reference" reads token by
            token in plain Python.
        distinct: the structural layer, where it has texts that must differ.
        row_ids: numbers for mask rows, where several automata have to share them.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        expander: Expander,
        root: int,
        vocabulary: Vocabulary,
        *,
        max_cache_bytes: int = DEFAULT_CACHE_BYTES,
        way: MaskWay = "slices",
        distinct: StructuralStates | None = None,
        row_ids: Iterator[int] | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self._tables = tables
        self._expander = expander
        self._root = root
        self._tokens = vocabulary.derive(build_token_symbols)
        self._slices = vocabulary.derive(SliceCache) if way == "slices" else None
        self._reference = (
            ReferenceWalk(tables, expander, vocabulary) if way == "reference" else None
        )
        self._runner = Runner(
            tables,
            expander,
            self._tokens,
            num_words=vocabulary.num_words,
            num_symbols=vocabulary.num_symbols,
        )
        self._distinct = (
            None
            if distinct is None
            else DistinctConfigurations(
                tables, distinct, vocabulary, self._tokens, is_plain=way == "reference"
            )
        )
        self._end_row = np.zeros(vocabulary.num_words, np.uint32)
        for token_id in vocabulary.end_token_ids:
            self._end_row[token_id >> 5] |= np.uint32(1 << (token_id & 31))
        self._max_cache_bytes = max_cache_bytes
        self._completion = Completion(tables, expander, vocabulary)
        self._configurations = ConfigurationTable()
        self._masks = MaskCache()
        self._rows = RowPool(self._end_row, count() if row_ids is None else row_ids)
        self._num_steps = 0
        self._start = self._make_start()

    def matcher(self) -> Matcher:
        """A new matcher at the start of the text."""
        return Matcher(self)

    @property
    def start(self) -> Configuration:
        """The configuration in which texts begin."""
        return self._start

    @property
    def table_bytes(self) -> int:
        """Bytes of the tables, which never shrink."""
        return self._tables.memory_bytes

    @property
    def memory_bytes(self) -> int:
        """Bytes of the tables and, about, of what is known."""
        return self._tables.memory_bytes + self._cache_bytes

    @property
    def num_states(self) -> int:
        """Structural states made so far."""
        return self._tables.num_states

    def advance(self, configuration: Configuration, token_id: int) -> Configuration | None:
        """The configuration after a token that is no end token; None where it is not allowed.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        if not 0 <= token_id < self.vocabulary.padded_size:
            return None
        if self._tokens.begin[token_id] == self._tokens.end[token_id]:
            return None
        with self._tables.lock:
            self._make_room()
            following = self._step(configuration, token_id)
            if following is not None and following.point is None and configuration.point is None:
                configuration.following[token_id] = following
                self._num_steps += 1
            return following

    def mask(self, configuration: Configuration) -> MaskRow:
        """The tokens allowed in a configuration.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
            UnsatisfiableError: the text can go on with bytes only that no token spells.
        """
        with self._tables.lock:
            if configuration.mask is None:
                self._make_room()
                configuration.mask = self._find_mask(configuration)
            return configuration.mask

    def forced_tokens(self, configuration: Configuration) -> tuple[int, ...]:
        """The tokens that must come next whatever is sampled, see `settled_tokens`.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        with self._tables.lock:
            if configuration.forced is None:
                symbols, is_live = self._runner.force(configuration)
                configuration.forced = tuple(
                    settled_tokens(symbols.tolist(), is_live, self.vocabulary, self._tokens.trie)
                )
            return configuration.forced

    def num_tokens_to_complete(self, configuration: Configuration) -> int:
        """How many tokens complete a text, see `Completion`.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        with self._tables.lock:
            if configuration.num_to_complete is None:
                configuration.num_to_complete = self._num_tokens_to_complete(configuration)
            return configuration.num_to_complete

    def _num_tokens_to_complete(self, configuration: Configuration) -> int:
        if self._distinct is None or configuration.point is None:
            return self._completion.num_tokens(configuration)
        return min(
            num_bytes + self._completion.num_tokens(free)
            for num_bytes, free in self._distinct.free_configurations(
                configuration, self._configurations
            )
        )

    def closing_words(self, configuration: Configuration, tokens_left: int) -> Bitmask:
        """The row of `GrammarMatcher.fill_closing_bitmask`.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        with self._tables.lock:
            words = self.mask(configuration).words
            most = max(tokens_left, self.num_tokens_to_complete(configuration)) - 1
            if configuration.most_to_complete is None or configuration.most_to_complete > most:
                ends, needed = self._needed_after(configuration, words)
                configuration.most_to_complete = max(needed.values(), default=0)
                if self._distinct is not None and not configuration.is_complete:
                    most = max(most, min(needed.values()))  # the shortest way may be a repeat
                far = [end for end, num_tokens in needed.items() if num_tokens > most]
                words = words & ~_packed(np.isin(ends, far), len(words))
            return words

    def warm(self, num_actions: int, goes_on: Callable[[], bool] = always) -> int:
        """See `ExpandableGrammar`."""
        return expand_ahead(self._tables, self._expander, self._root, num_actions, goes_on)

    def device_tables(self, budget: DeviceBudget) -> DeviceTables | None:
        """The automaton over tokens, where it is finite within a budget.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        if self._distinct is not None:
            return None
        with self._tables.lock:
            return explore(self, self._start, budget)

    def successors(
        self, configuration: Configuration
    ) -> tuple[NDArray[np.int32], list[Configuration]]:
        """Where each token leads to: 1 + an index into the configurations, 0 where it is refused.

        Only for grammars without texts that must differ.

        Returns:
            int32, (padded_size,); the configurations.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        assert self._distinct is None
        with self._tables.lock:
            ends = self._runner.ends(configuration)
            pushes = ends.pushes.tolist()
            following = []
            for point in ends.points[1:].tolist():
                first, past = point[PUSHED], point[PUSHED] + point[NUM_PUSHED]
                following.append(self._after(configuration, point, pushes[first:past][::-1]))
            return ends.end_of_token, following

    def _needed_after(
        self, configuration: Configuration, words: Bitmask
    ) -> tuple[NDArray[np.int32], dict[int, int]]:
        """What each token leads to, by number, and the tokens that complete the text from there."""
        if self._distinct is None:
            ends, following = self.successors(configuration)
        else:
            ends, following = self._successors_one_by_one(configuration, words)
        return ends, {
            number: self.num_tokens_to_complete(after) for number, after in enumerate(following, 1)
        }

    def _successors_one_by_one(
        self, configuration: Configuration, words: Bitmask
    ) -> tuple[NDArray[np.int32], list[Configuration]]:
        """`successors` of the tokens of a row, for any grammar; its plain reference."""
        ends = np.zeros(self.vocabulary.padded_size, np.int32)
        numbers: dict[Configuration, int] = {}
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        for token_id in np.flatnonzero(bits).tolist():
            if token_id not in self.vocabulary.end_token_ids:
                after = self._step(configuration, token_id)
                assert after is not None, "the row allows it"
                ends[token_id] = numbers.setdefault(after, len(numbers) + 1)
        return ends, list(numbers)

    def _make_start(self) -> Configuration:
        with self._tables.lock:
            lexer = self._tables.lexer_start(self._root)
            fresh = self._configurations.configuration(
                self._root, lexer, 0, None, is_fresh=True, is_complete=False
            )
            fresh.is_complete = bool(self._runner.step(fresh, None)[IS_COMPLETE])
            return fresh

    def _step(self, configuration: Configuration, token_id: int) -> Configuration | None:
        if self._distinct is not None and self._distinct.concerns(configuration, token_id):
            return self._distinct.step(configuration, token_id, self._configurations)
        result = self._runner.step(configuration, token_id)
        point = result[:PUSHED].tolist()
        if point[STATE] == 0:
            return None
        pushed = result[PUSHED : PUSHED + point[NUM_PUSHED]].tolist()
        return self._after(configuration, point, pushed)

    def _after(
        self, configuration: Configuration, point: Sequence[int], pushed: Sequence[int]
    ) -> Configuration:
        """The configuration of a point (see `walk.step`) with these frames pushed."""
        below = configuration.below
        for _ in range(point[NUM_DROPPED]):
            assert below is not None
            below = below.below
        for state in pushed:
            below = self._configurations.frame(state, below)
        return self._configurations.configuration(
            point[STATE],
            point[LEXER],
            point[COUNTED],
            below,
            is_fresh=bool(point[IS_FRESH]),
            is_complete=bool(point[IS_COMPLETE]),
        )

    def _find_mask(self, configuration: Configuration) -> MaskRow:
        key = self._mask_key(configuration)
        row = self._masks.find(key, configuration.below)
        if row is None:
            row, num_frames_seen = self._make_mask(configuration)
            self._masks.store(key, configuration.below, num_frames_seen, row)
        return row if self._distinct is None else self._without_repeats(row, configuration)

    def _without_repeats(self, row: MaskRow, configuration: Configuration) -> MaskRow:
        """A row without the tokens that would repeat what must differ."""
        assert self._distinct is not None
        refused = self._distinct.refused(configuration, row.words)
        if not refused:
            return row
        words = row.words.view(np.uint32).copy()
        for token_id in refused:
            words[token_id >> 5] &= ~np.uint32(1 << (token_id & 31))
        return self._rows.intern(words)

    def _make_mask(self, configuration: Configuration) -> tuple[MaskRow, int]:
        words, num_frames_seen = self._text_words(configuration)
        if configuration.is_complete:
            words |= self._end_row
        row = self._rows.intern(words)
        if not row.has_text and not configuration.is_complete:
            raise UnsatisfiableError("the text can go on with bytes only that no token spells")
        return row, num_frames_seen

    def _text_words(self, configuration: Configuration) -> tuple[NDArray[np.uint32], int]:
        """The row without end tokens, and how many frames below the top it depends on."""
        if self._reference is not None:
            return self._reference_words(self._reference, configuration)
        if self._slices is None or configuration.lexer == DEAD:
            return self._runner.fill(configuration, None, is_wide=False)
        dfa, local = self._tables.locate(configuration.lexer)
        if not self._slices.is_wide(dfa, local):
            return self._runner.fill(configuration, None, is_wide=False)
        view = self._find_slice(self._slices, configuration)
        return self._runner.fill(configuration, view, is_wide=True)

    def _find_slice(self, slices: SliceCache, configuration: Configuration) -> SliceView | None:
        dfa, local = self._tables.locate(configuration.lexer)
        view = slices.find(dfa, local)
        if view is None:
            return None
        hidden = ~self._tables.state_row(configuration.state)[StateColumn.WINDOW]
        if hidden:
            source = configuration.lexer + view.source - local
            if self._tables.lexer_row(source)[LexerColumn.REACH] & hidden:
                return None  # some tokens of the slice lead to what is not read here
        return view

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
        words = np.zeros(self.vocabulary.num_words, np.uint32)
        for token_id in reference.allowed_token_ids(plain):
            words[token_id >> 5] |= np.uint32(1 << (token_id & 31))
        return words & ~self._end_row, len(below)

    def _mask_key(self, configuration: Configuration) -> TopKey:
        return (
            configuration.state,
            configuration.lexer,
            self._clip(configuration),
            configuration.is_complete,
        )

    def _clip(self, configuration: Configuration) -> int:
        """The least count that no single token can tell from this one."""
        fewest, most = self._runner.count_bounds(configuration.state)
        counted = configuration.counted
        reach = counted + self._tokens.longest
        if most is not None and reach + self._tables.most_owed(configuration.lexer) > most:
            return counted
        if counted >= fewest:
            return fewest
        return counted if reach >= fewest else 0

    @property
    def _cache_bytes(self) -> int:
        return (
            self._rows.num_bytes
            + _CONFIGURATION_BYTES * len(self._configurations)
            + _ENTRY_BYTES * (self._num_steps + len(self._masks))
        )

    def _make_room(self) -> None:
        """Forget what is known when it takes too much; texts under way keep their configuration."""
        if self._cache_bytes <= self._max_cache_bytes:
            return
        self._configurations.clear()
        self._masks.clear()
        self._rows.clear()
        self._num_steps = 0


def _packed(is_set: NDArray[np.bool_], num_words: int) -> Bitmask:
    """Flags by token id as a bitmask row."""
    padded = np.zeros(32 * num_words, np.bool_)
    padded[: len(is_set)] = is_set
    return np.packbits(padded, bitorder="little").view(np.int32)
