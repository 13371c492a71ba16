"""SliceSources: for the states of one automaton, the states whose slices they take."""

from __future__ import annotations

import hashlib
import weakref
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.classes import merge_columns
from grammars.automata.dfa import DEAD, NO_LABEL, Dfa
from grammars.automata.kernels import kernel, usual_target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Bools, Ints

MAX_RESIDUAL_STATES: Final = 256
"""Slices of states that can read more are not shared by automata."""

MAX_DIFFERING_SYMBOLS: Final = 32

_serial_numbers: Final = count()


@dataclass(frozen=True, slots=True)
class Residual:
    """What a state of an automaton reads.

    Args:
        state: its number.
        key: the same for states, of all automata, that read the same.
        labels: its automaton's label for each label of the slice, which are numbered from 1.
        states: what can be reached from it, in the order in which it is found; None where that is
            much, and the slice is one of the automaton itself.
    """

    state: int
    key: bytes
    labels: tuple[int, ...]
    states: tuple[int, ...] | None

    def cut_out(self, dfa: Dfa) -> tuple[Dfa, int]:
        """An automaton that reads it, and from which state.

        Args:
            dfa: the automaton of the state.
        """
        if self.states is None:
            return dfa, self.state
        return _cut_out(dfa, self.states, self.labels), 1


class SliceSources:
    """The sources of one automaton, which is known weakly: the caller has to hold it.

    Args:
        dfa: the automaton.
    """

    def __init__(self, dfa: Dfa) -> None:
        self._dfa = weakref.ref(dfa)
        self._number = next(_serial_numbers)
        self._residuals: dict[int, Residual] = {}

    def find(self, state: int) -> int:
        """The state whose slice a state takes.

        It is the one that most of its symbols lead to, or the state itself.
        """
        dfa = self._dfa()
        assert dfa is not None, "the caller holds it"
        return _find_usual(
            dfa.next_state, dfa.symbol_class, dfa.char_boundary, state, MAX_DIFFERING_SYMBOLS
        )

    def residual(self, state: int) -> Residual:
        """What a state reads."""
        found = self._residuals.get(state)
        if found is None:
            dfa = self._dfa()
            assert dfa is not None, "the caller holds it"
            found = self._residuals[state] = self._make(dfa, state)
        return found

    def _make(self, dfa: Dfa, state: int) -> Residual:
        order = _reachable(dfa.next_state, dfa.symbol_class, state, MAX_RESIDUAL_STATES)
        if len(order) > MAX_RESIDUAL_STATES:
            key = b"%d/%d" % (self._number, state)
            return Residual(state, key, tuple(range(1, int(dfa.label.max()) + 1)), None)
        own_labels = dfa.label[order].tolist()
        labels = tuple(dict.fromkeys(label for label in own_labels if label != NO_LABEL))
        states = tuple(order.tolist())
        cut = _cut_out(dfa, states, labels)
        digest = hashlib.sha256()
        for array in (cut.symbol_class, cut.next_state, cut.label, cut.char_boundary):
            digest.update(array.tobytes())
            digest.update(b"%d;" % array.size)
        return Residual(state, digest.digest(), labels, states)


def _cut_out(dfa: Dfa, states: tuple[int, ...], labels: tuple[int, ...]) -> Dfa:
    """Some states of an automaton, by new numbers of states, labels and classes of symbols.

    Args:
        dfa: the automaton.
        states: those that get the numbers 1, 2, ...; all that they lead to are among them.
        labels: those that get the numbers 1, 2, ...
    """
    kept = np.array((DEAD, *states))
    renumber = np.zeros(dfa.num_states, np.int32)
    renumber[kept] = np.arange(len(kept))
    number = {own: new for new, own in enumerate(labels, 1)} | {NO_LABEL: NO_LABEL}
    label = np.array([number[own] for own in dfa.label[kept].tolist()], np.int32)
    symbol_class, table = merge_columns(
        renumber[dfa.next_state[kept]], dfa.symbol_class.astype(np.int32)
    )
    return Dfa(symbol_class.astype(np.uint16), table, label, 1, dfa.char_boundary[kept])


@kernel
def _find_usual(
    next_state: Ints,
    symbol_class: NDArray[np.uint16],
    is_boundary: Bools,
    state: int,
    max_differing: int,
) -> int:
    """Where most symbols lead, if all but `max_differing` are read there alike; else the state."""
    usual = usual_target(state, next_state, symbol_class, len(symbol_class))
    num_differing = 0
    for symbol in range(len(symbol_class)):
        c = symbol_class[symbol]
        num_differing += next_state[state, c] != next_state[usual, c]
    if is_boundary[state] != is_boundary[usual] or num_differing > max_differing:
        return int(state)
    return usual


@kernel
def _reachable(next_state: Ints, symbol_class: NDArray[np.uint16], start: int, most: int) -> Ints:
    """The states that can be reached from one, `most + 1` of them if there are more than `most`.

    They are found breadth first, in the order of symbols.
    """
    num_states, num_classes = next_state.shape
    classes = np.empty(num_classes, np.int32)  # in the order in which symbols have them
    is_met = np.zeros(num_classes, np.bool_)
    num_met = 0
    for symbol in range(len(symbol_class)):
        c = symbol_class[symbol]
        if not is_met[c]:
            is_met[c] = True
            classes[num_met] = c
            num_met += 1
    is_found = np.zeros(num_states, np.bool_)
    is_found[0] = is_found[start] = True
    order = np.empty(most + 1, np.int32)
    order[0] = start
    num_found = 1
    at = 0
    while at < num_found and num_found <= most:
        for i in range(num_met):
            target = next_state[order[at], classes[i]]
            if not is_found[target] and num_found <= most:
                is_found[target] = True
                order[num_found] = target
                num_found += 1
        at += 1
    return order[:num_found]
