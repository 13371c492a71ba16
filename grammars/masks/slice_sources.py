"""SliceSources: for the states of one automaton, the states whose slices they take."""

from __future__ import annotations

import hashlib
import weakref
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.classes import merge_columns
from grammars.automata.dfa import Dfa
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
        is_shared: whether it is small enough for that; else the slice is one of the automaton
            itself.
    """

    state: int
    key: bytes
    labels: tuple[int, ...]
    is_shared: bool

    def cut_out(self, dfa: Dfa) -> tuple[Dfa, int]:
        """An automaton that reads it, and from which state.

        Args:
            dfa: the automaton of the state.
        """
        cut = _cut_out(dfa, self.state) if self.is_shared else None
        return (dfa, self.state) if cut is None else (cut[0], 1)


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
        found = _cut_out(dfa, state)
        if found is None:
            key = b"%d/%d" % (self._number, state)
            return Residual(state, key, tuple(range(1, int(dfa.label.max()) + 1)), is_shared=False)
        cut, labels = found
        digest = hashlib.sha256()
        for array in (cut.symbol_class, cut.next_state, cut.label, cut.char_boundary):
            digest.update(array.tobytes())
            digest.update(b"%d;" % array.size)
        return Residual(state, digest.digest(), labels, is_shared=True)


def _cut_out(dfa: Dfa, state: int) -> tuple[Dfa, tuple[int, ...]] | None:
    """What can be reached from a state, as an automaton that is numbered by how it is found.

    Returns:
        The automaton, which begins in its state 1, and the label in `dfa` of each label in it;
        None where more than MAX_RESIDUAL_STATES can be reached.
    """
    reached, label, is_boundary, labels = _reach(
        dfa.next_state, dfa.symbol_class, dfa.label, dfa.char_boundary, state, MAX_RESIDUAL_STATES
    )
    if not len(reached):
        return None
    symbol_class, next_state = merge_columns(reached, dfa.symbol_class.astype(np.int32))
    cut = Dfa(symbol_class.astype(np.uint16), next_state, label, 1, is_boundary)
    return cut, tuple(labels.tolist())


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
def _reach(
    next_state: Ints,
    symbol_class: NDArray[np.uint16],
    label: Ints,
    is_boundary: Bools,
    start: int,
    most: int,
) -> tuple[Ints, Ints, Bools, Ints]:
    """The states of a `Dfa` (its fields come first) that can be reached from one, numbered anew.

    They are found breadth first, in the order of symbols, and numbered as they are found; so are
    their labels.

    Args:
        next_state: see `Dfa`, as the next three.
        symbol_class: see there.
        label: see there.
        is_boundary: see there, `char_boundary`.
        start: gets the number 1.
        most: states at most.

    Returns:
        `next_state`, over the classes of the automaton, `label` and `char_boundary` of what is
        found, all empty where that is more than `most`; the label in the automaton of each label.
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
    number = np.zeros(num_states, np.int32)
    order = np.empty(min(most, num_states), np.int32)
    number[start] = 1
    order[0] = start
    num_found = 1
    at = 0
    while at < num_found:
        for i in range(num_met):
            target = next_state[order[at], classes[i]]
            if target != 0 and number[target] == 0:
                if num_found == most:
                    return np.zeros((0, 1), np.int32), label[:0], is_boundary[:0], label[:0]
                order[num_found] = target
                num_found += 1
                number[target] = num_found
        at += 1

    found = np.zeros((num_found + 1, num_classes), np.int32)
    found_label = np.zeros(num_found + 1, np.int32)
    found_boundary = np.zeros(num_found + 1, np.bool_)
    label_number = np.zeros(label.max() + 1, np.int32)
    labels = np.empty(len(label_number), np.int32)
    num_labels = 0
    for i in range(num_found):
        state = order[i]
        for c in range(num_classes):
            found[i + 1, c] = number[next_state[state, c]]
        own = label[state]
        if own != 0 and label_number[own] == 0:
            labels[num_labels] = own
            num_labels += 1
            label_number[own] = num_labels
        found_label[i + 1] = label_number[own]
        found_boundary[i + 1] = is_boundary[state]
    return found, found_label, found_boundary, labels[:num_labels]
