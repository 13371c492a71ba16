"""AutomatonGrammar: a compiled grammar; what is found out about it is shared by all texts."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from grammars.errors import LimitExceededError
from grammars.masks.ahead import always, expand_ahead
from grammars.masks.closing import Closing
from grammars.masks.configuration import ConfigurationTable
from grammars.masks.distinct_configurations import DistinctConfigurations
from grammars.masks.exploration import explore
from grammars.masks.forced import settled_tokens
from grammars.masks.long_strings import LongStrings
from grammars.masks.mask_maker import MaskMaker
from grammars.masks.matcher import Matcher
from grammars.masks.rows import RowPool, row_of
from grammars.masks.runner import Runner
from grammars.masks.steps import Steps
from grammars.masks.token_symbols import build_token_symbols
from grammars.work import STEP_WORK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from grammars.device_tables import DeviceBudget, DeviceTables
    from grammars.masks.configuration import Configuration
    from grammars.masks.mask_maker import MaskWay
    from grammars.masks.rows import MaskRow
    from grammars.protocol import Bitmask
    from grammars.pushdown.actions import Expander
    from grammars.pushdown.structural import StructuralStates
    from grammars.pushdown.tables import AutomatonTables
    from grammars.vocabulary import Vocabulary

DEFAULT_CACHE_BYTES: Final = 64 * 2**20

_CONFIGURATION_BYTES: Final = 1200
_ENTRY_BYTES: Final = 250
"""Rough sizes of what Python keeps: a configuration; a known step or an entry of the mask cache."""

_CALLS_PER_LOOK: Final = 16
"""Steps and masks between two looks at these bytes."""


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
        self._runner = Runner(
            tables,
            expander,
            self._tokens,
            num_symbols=vocabulary.num_symbols,
            is_plain=way == "walk",
        )
        self._max_cache_bytes = max_cache_bytes
        self._configurations = ConfigurationTable()
        self._rows = RowPool(vocabulary.derive(_end_row), count() if row_ids is None else row_ids)
        self._steps = Steps(self._runner, self._tokens, self._configurations)
        self._masks = MaskMaker(
            tables,
            expander,
            vocabulary,
            self._tokens,
            self._runner,
            self._rows,
            LongStrings(tables, expander, self._tokens, self._runner, self._steps),
            way,
        )
        self._distinct = (
            None
            if distinct is None
            else DistinctConfigurations(
                tables,
                distinct,
                vocabulary,
                self._tokens,
                self._steps,
                self._configurations,
                is_plain=way == "reference",
            )
        )
        self._closing = Closing(tables, expander, vocabulary, self._steps, self._distinct)
        self._num_steps = 0
        self._num_calls = 0  # of `_make_room`
        with tables.lock:
            self._start = self._steps.start(root, tables.lexer_start(root))

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
        with self._tables.lock, self._tables.work:
            self._make_room()
            following = self._step(configuration, token_id)
            if following is not None and following.is_shared and configuration.is_shared:
                configuration.following[token_id] = following
                self._num_steps += 1
            return following

    def mask(self, configuration: Configuration) -> MaskRow:
        """The tokens allowed in a configuration.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
            UnsatisfiableError: the text can go on with bytes only that no token spells.
        """
        with self._tables.lock, self._tables.work:
            if configuration.mask is None:
                self._make_room()
                configuration.mask = self._find_mask(configuration)
            return configuration.mask

    def forced_tokens(self, configuration: Configuration) -> tuple[int, ...]:
        """The tokens that must come next whatever is sampled, see `settled_tokens`.

        None where it takes the work of a step to find them: masks say the same, token by token.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        with self._tables.lock:
            if configuration.forced is None:
                configuration.forced = self._find_forced(configuration)
            return configuration.forced

    def _find_forced(self, configuration: Configuration) -> tuple[int, ...]:
        try:
            with self._tables.work:
                symbols, is_live = self._runner.force(configuration)
        except LimitExceededError as error:
            if error.limit != STEP_WORK:
                raise
            return ()
        return tuple(settled_tokens(symbols.tolist(), is_live, self.vocabulary, self._tokens.trie))

    def num_tokens_to_complete(
        self, configuration: Configuration, max_states: int | None = None
    ) -> int:
        """How many tokens complete a text, see `Closing`; other texts go on during a long search.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        with self._tables.lock:
            return self._closing.num_tokens(configuration, max_states, lets_others_in=True)

    def closing_words(self, configuration: Configuration, tokens_left: int) -> Bitmask:
        """The row of `GrammarMatcher.fill_closing_bitmask`.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        with self._tables.lock:
            words = self.mask(configuration).words
            return self._closing.words(configuration, words, tokens_left)

    def warm(self, num_actions: int, goes_on: Callable[[], bool] = always) -> int:
        """See `ExpandableGrammar`."""
        return expand_ahead(self._tables, self._expander, self._root, num_actions, goes_on)

    def device_tables(
        self, budget: DeviceBudget, goes_on: Callable[[], bool] = always
    ) -> DeviceTables | None:
        """See `TabledGrammar`."""
        return None if self._distinct is not None else explore(self, self._start, budget, goes_on)

    def successors(
        self, configuration: Configuration
    ) -> tuple[NDArray[np.int32], list[Configuration]]:
        """Where the automaton alone goes with each token, see `Steps.after_all`.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        with self._tables.lock:
            return self._steps.after_all(configuration)

    def _step(self, configuration: Configuration, token_id: int) -> Configuration | None:
        if self._distinct is None:
            return self._steps.after(configuration, token_id)
        return self._distinct.step(configuration, token_id)

    def _find_mask(self, configuration: Configuration) -> MaskRow:
        if self._distinct is None:
            return self._masks.find(configuration)
        shared = configuration.shared
        row = shared.mask
        if row is None:
            row = self._masks.find(shared) if shared is configuration else self.mask(shared)
        refused = self._distinct.refused(configuration, row.words)
        return self._rows.without(row, refused) if refused else row

    @property
    def _cache_bytes(self) -> int:
        num_hops = 0 if self._distinct is None else self._distinct.num_hops
        return (
            self._rows.num_bytes
            + _CONFIGURATION_BYTES * len(self._configurations)
            + _ENTRY_BYTES * (self._num_steps + num_hops + len(self._masks))
        )

    def _make_room(self) -> None:
        """Forget what is known when it takes too much; texts under way keep their configuration."""
        self._num_calls += 1
        if self._num_calls % _CALLS_PER_LOOK or self._cache_bytes <= self._max_cache_bytes:
            return
        self._configurations.clear()
        self._masks.clear()
        self._rows.clear()
        if self._distinct is not None:
            self._distinct.forget_hops()
        self._num_steps = 0


def _end_row(vocabulary: Vocabulary) -> NDArray[np.uint32]:
    """The row of the end tokens."""
    return row_of(vocabulary.end_token_ids, vocabulary.num_words)
