"""Boolean operations and minimisation on byte automata."""

from __future__ import annotations

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.combination import Operand, combine
from grammars.automata.dfa import NO_LABEL, Dfa
from grammars.automata.minimise import minimise_table
from grammars.automata.product import Operation


def intersect(left: Dfa, right: Dfa, *, max_states: int = 50_000) -> Dfa:
    """The texts of both; label 1, a boundary where both sides have one.

    Raises:
        LimitExceededError: more than `max_states` pairs of states.
    """
    return _combine(Operation.INTERSECT, left, right, max_states)


def union(left: Dfa, right: Dfa, *, max_states: int = 50_000) -> Dfa:
    """The texts of either; label 1, a boundary where either side has one."""
    return _combine(Operation.UNION, left, right, max_states)


def difference(left: Dfa, right: Dfa, *, max_states: int = 50_000) -> Dfa:
    """The texts of `left` that are not in `right`; label 1, the boundaries of `left`."""
    return _combine(Operation.DIFFERENCE, left, right, max_states)


def minimise(dfa: Dfa) -> Dfa:
    """The smallest automaton with the same texts, labels and boundaries, numbered breadth-first."""
    kind = 2 * dfa.label + dfa.char_boundary
    minimal = minimise_table(dfa.next_state, dfa.start, kind.astype(np.int32))
    return build_dfa(
        minimal.next_state,
        dfa.symbol_class.astype(np.int32),
        dfa.label[minimal.old_state],
        minimal.start,
        dfa.char_boundary[minimal.old_state],
    )


def _combine(operation: Operation, left: Dfa, right: Dfa, max_states: int) -> Dfa:
    num_symbols = max(left.symbol_class.shape[0], right.symbol_class.shape[0])
    result = combine(
        operation,
        _operand(left, num_symbols),
        _operand(right, num_symbols),
        max_states=max_states,
        what="a combination of terminals",
    )
    label = result.accepting.astype(np.int32)
    return build_dfa(result.next_state, result.item_class, label, result.start, result.boundary)


def _operand(dfa: Dfa, num_symbols: int) -> Operand:
    symbol_class = np.zeros(num_symbols, np.int32)
    symbol_class[: dfa.symbol_class.shape[0]] = dfa.symbol_class
    return Operand(
        dfa.next_state, dfa.start, symbol_class, dfa.label != NO_LABEL, dfa.char_boundary
    )
