"""LexerPool: the lexer states of one automaton: those of every added `Dfa`, by global numbers."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from grammars.pushdown.columns import IS_DOOR, NUM_LEADING, REACH
from grammars.pushdown.layout import FIRST_FAR_LABEL, MAX_WINDOW_LABELS, LexerColumn
from grammars.pushdown.table_rows import owed_of, write_dfa

if TYPE_CHECKING:
    from threading import RLock

    import numpy as np
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.pushdown.array_pools import ArrayPools

_ROW_BYTES: Final = 8 * len(LexerColumn)

NEAR_LABELS: Final = (1 << MAX_WINDOW_LABELS) - 1
"""Bits of the labels that are not far."""


class LexerPool:
    """The states of automata, one automaton after the other.

    Args:
        pools: where they are written.
        lock: held while they are.
    """

    def __init__(self, pools: ArrayPools, lock: RLock) -> None:
        self._pools = pools
        self._lock = lock
        self._base_of_dfa: dict[Dfa, int] = {}  # a Dfa compares by identity
        self._dfas: list[Dfa] = []
        self._bases: list[int] = []
        self._most_owed: dict[Dfa, int] = {}
        self._spans_of_base: dict[int, int] = {}  # where its far spans begin, if it has any

    def add_dfa(self, dfa: Dfa) -> int:
        """Add the states of `dfa`, once per object.

        Returns:
            base: local state q > 0 has the global number base + q. (Local DEAD is global 0.)

        Raises:
            LimitExceededError: the tables would take more than `max_bytes`.
        """
        with self._lock:
            base = self._base_of_dfa.get(dfa)
            if base is None:
                base = self._append_dfa(dfa)
                self._base_of_dfa[dfa] = base
                self._bases.append(base)
                self._dfas.append(dfa)
            return base

    def _append_dfa(self, dfa: Dfa) -> int:
        num_states, num_classes = dfa.next_state.shape
        num_live, num_symbols = num_states - 1, len(dfa.symbol_class)
        self._pools.check_budget(
            _ROW_BYTES * num_states + 4 * dfa.next_state.size + 2 * num_symbols
        )
        first = self._pools.reserve(self._pools.lexers, num_live)
        transition = self._pools.reserve(self._pools.transitions, num_live * num_classes)
        symbol = self._pools.reserve(self._pools.classes, num_symbols)
        arrays = self._pools.arrays()
        write_dfa(
            dfa.next_state,
            dfa.symbol_class,
            dfa.label,
            dfa.char_boundary,
            owed_of(dfa),
            arrays.lexers,
            arrays.transitions,
            arrays.classes,
            first,
            transition,
            symbol,
        )
        return first - 1

    def set_reach(self, base: int, reach: NDArray[np.int64]) -> None:
        """Write the labels that the states of an added `Dfa` can reach, for states with a window.

        Args:
            base: of the `Dfa`.
            reach: int64, (num_states,), see `LexerColumn.REACH`.
        """
        with self._lock:
            self._pools.lexers.array[base + 1 : base + len(reach), LexerColumn.REACH] = reach[1:]

    def set_door(self, lexer_state: int) -> None:
        """Mark a state, see `LexerColumn.IS_DOOR`."""
        with self._lock:
            self._pools.lexers.array[lexer_state, IS_DOOR] = 1

    def set_far_spans(self, base: int, spans: NDArray[np.int32]) -> None:
        """Write what the states of an added `Dfa` with far labels can reach of these.

        Args:
            base: of the `Dfa`.
            spans: int32, (num_states, 2), see `TableArrays.far_spans`.
        """
        with self._lock:
            if base not in self._spans_of_base:
                self._pools.check_budget(spans.nbytes)
                first = self._pools.reserve(self._pools.far_spans, len(spans))
                self._pools.far_spans.array[first : first + len(spans)] = spans
                self._spans_of_base[base] = first

    def far_labels(self, lexer_state: int) -> range:
        """The far labels between the first and the last that a lexer state can reach."""
        base = self._bases[bisect_right(self._bases, lexer_state - 1) - 1]
        spans = self._spans_of_base.get(base)
        if spans is None:
            return range(FIRST_FAR_LABEL, FIRST_FAR_LABEL)
        first, last = self._pools.far_spans.array[spans + lexer_state - base].tolist()
        return range(first + FIRST_FAR_LABEL, last + FIRST_FAR_LABEL + 1)

    def locate(self, lexer_state: int) -> tuple[Dfa, int]:
        """The Dfa that a live global lexer state belongs to, and its local number there."""
        index = bisect_right(self._bases, lexer_state - 1) - 1
        return self._dfas[index], lexer_state - self._bases[index]

    def most_owed(self, lexer_state: int) -> int:
        """The greatest `LexerColumn.OWED` among the states of the same Dfa."""
        dfa, _ = self.locate(lexer_state)
        known = self._most_owed.get(dfa)
        if known is None:
            known = self._most_owed[dfa] = int(owed_of(dfa).max())
        return known

    def can_read(self, lexer_state: int, window: int) -> bool:
        """Whether a lexer state can reach a label of a window."""
        far = self.far_labels(lexer_state)
        is_near = int(self._pools.lexers.array[lexer_state, REACH]) & window & NEAR_LABELS != 0
        return is_near or window >> far.start - 1 & (1 << len(far)) - 1 != 0

    def num_leading(self, lexer_state: int) -> int:
        """See `LexerColumn.NUM_LEADING`."""
        return int(self._pools.lexers.array[lexer_state, NUM_LEADING])

    def row(self, lexer_state: int) -> tuple[int, ...]:
        """The columns of a lexer state, see `LexerColumn`."""
        return tuple(self._pools.lexers.array[lexer_state].tolist())

    def far_spans_of(self, lexer_state: int) -> int:
        """See `StateColumn.FAR_SPANS`."""
        base = self._bases[bisect_right(self._bases, lexer_state - 1) - 1]
        return self._spans_of_base[base] - base
