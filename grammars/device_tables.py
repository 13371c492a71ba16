"""DeviceTables: a finite grammar as arrays that a device can follow without the host.

The states are those of a deterministic automaton over tokens: the configurations that texts can
reach. Most tokens of a state lead to one and the same next state (a string goes on as a string), so
a state has a default and exceptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

START: Final = 0
"""The state in which a text begins."""

ENDED: Final = 1
"""The state after an end token: it allows the end tokens alone and leads to itself."""


@dataclass(frozen=True, slots=True)
class DeviceBudget:
    """How large the tables of one grammar may be, in counted units.

    Args:
        max_states: states; a grammar with more (or with endlessly many) has no tables.
        max_bytes: bytes of all arrays.
    """

    max_states: int = 4096
    max_bytes: int = 32 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class DeviceTables:
    """The automaton over tokens.

    Args:
        rows: uint32, (num_rows, num_words); the distinct bitmask rows, none of them empty.
        row_of_state: int32, (num_states,).
        default_next: int32, (num_states,); where the allowed tokens lead that are no exceptions.
        exception_begin: int32, (num_states + 1,); the exceptions of state s are those from
            `exception_begin[s]` to `exception_begin[s + 1]`.
        exception_tokens: int32; ascending within a state, all of them allowed there.
        exception_next: int32; the state after each.
        is_complete: bool, (num_states,); whether the text may end there.
    """

    rows: NDArray[np.uint32]
    row_of_state: NDArray[np.int32]
    default_next: NDArray[np.int32]
    exception_begin: NDArray[np.int32]
    exception_tokens: NDArray[np.int32]
    exception_next: NDArray[np.int32]
    is_complete: NDArray[np.bool_]

    @property
    def num_states(self) -> int:
        """States, with START and ENDED."""
        return len(self.row_of_state)

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays."""
        return (
            self.rows.nbytes
            + self.row_of_state.nbytes
            + self.default_next.nbytes
            + self.exception_begin.nbytes
            + self.exception_tokens.nbytes
            + self.exception_next.nbytes
            + self.is_complete.nbytes
        )

    def next_state(self, state: int, token_id: int) -> int:
        """The state after an allowed token: what a device does, in plain Python."""
        begin, end = int(self.exception_begin[state]), int(self.exception_begin[state + 1])
        index = begin + int(np.searchsorted(self.exception_tokens[begin:end], token_id))
        if index < end and self.exception_tokens[index] == token_id:
            return int(self.exception_next[index])
        return int(self.default_next[state])


@runtime_checkable
class TabledGrammar(Protocol):
    """A compiled grammar that may be finite, and then has tables that a device can follow."""

    def device_tables(
        self, budget: DeviceBudget, goes_on: Callable[[], bool] = ...
    ) -> DeviceTables | None:
        """The automaton over tokens; None where it is not finite within the budget.

        Args:
            budget: how large it may be.
            goes_on: asked before each state, while no lock is held; may wait. False: None at once.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        ...
