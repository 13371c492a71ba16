"""Dfa: a deterministic automaton over bytes and control-token symbols, with labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEAD: Final = 0
"""The state from which nothing is accepted; always state 0, in every automaton."""

NO_LABEL: Final = 0
"""Label of a state that does not accept."""

NUM_BYTES: Final = 256
"""Symbols below this are bytes; symbol 256 + i is control token i of the vocabulary."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Dfa:
    """A trimmed deterministic automaton.

    Every state but DEAD is reachable from `start` and can reach an accepting state, so a prefix
    that is not dead can always be completed. Immutable: the arrays are never written after
    construction.

    Args:
        symbol_class: uint16, (num_symbols,), num_symbols >= 256; the class of each symbol. Class 0
            is the class of symbols that lead nowhere from any state. Symbols past the end are of
            class 0.
        next_state: int32, (num_states, num_classes); row DEAD and column 0 are all DEAD.
        label: int32, (num_states,); NO_LABEL, or the label (>= 1) that the state accepts with.
        start: the initial state; DEAD for the empty language.
        char_boundary: bool, (num_states,); states in which a whole character of a JSON string's
            content
            has just ended and another may begin: a counted string counts one on every step that
                leaves
            such a state into anything but a closed accepting state. All False where nothing is
            counted.
        num_ends: labels past this end no terminal, but a piece of one that goes on
            (`string_rest`); None where there are none.
    """

    symbol_class: NDArray[np.uint16]
    next_state: NDArray[np.int32]
    label: NDArray[np.int32]
    start: int
    char_boundary: NDArray[np.bool_]
    num_ends: int | None = None

    @property
    def num_states(self) -> int:
        """How many states there are, DEAD included."""
        return int(self.next_state.shape[0])

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is accepted."""
        return self.start == DEAD

    def step(self, state: int, symbol: int) -> int:
        """The state after one symbol; the plain reference of every kernel that does the same."""
        if symbol >= self.symbol_class.shape[0]:
            return DEAD
        return int(self.next_state[state, self.symbol_class[symbol]])

    def run(self, data: bytes) -> int:
        """The state after all of `data` from the start."""
        state = self.start
        for byte in data:
            state = self.step(state, byte)
        return state

    def accepts(self, data: bytes) -> bool:
        """Whether `data` as a whole is in the language, under any label."""
        return int(self.label[self.run(data)]) != NO_LABEL
