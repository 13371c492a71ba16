"""The layout of the automaton's arrays: the contract between the tables and the kernels."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

UNBOUNDED: Final = 2**31 - 1
"""`count_max` of a state that does not bound its characters, in the arrays only."""


ALL_LABELS: Final = -1
"""A window through which every label is seen, and the reach of a state that was not asked for."""

MAX_WINDOW_LABELS: Final = 63
"""Labels of a lexer that a window has bits for; of those past them, the *far* ones, it has a set.

In a lexer with far labels these are numbered in the order of the words that they read. So what a
lexer state can reach of them are neighbours, told by the first and the last: its *span*.
"""

FIRST_FAR_LABEL: Final = MAX_WINDOW_LABELS + 1


class ActionKind(IntEnum):
    """Column 0 of the action table."""

    UNEXPANDED = 0
    DEAD = 1
    GOTO = 2
    PUSH = 3
    POP = 4


class LexerColumn(IntEnum):
    """Columns of `TableArrays.lexers`."""

    TRANSITIONS = 0  # where the row of this state begins in `transitions`
    CLASSES = 1  # where the symbol classes of its Dfa begin in `classes`
    NUM_SYMBOLS = 2
    LABEL = 3
    IS_CLOSED = 4  # accepts, and no symbol leads on
    IS_BOUNDARY = 5
    REACH = 6  # bit l - 1 is set where label l can be reached; all bits where no window asks for it
    OWED = 7  # characters that a counted string needs at least from here on, see `automata.owed`
    NUM_LEADING = 8  # bytes that do not lead to DEAD
    IS_DOOR = 9  # behind the quote just read lie many pieces, see `Expander.cut_strings`
    STEADY = 10  # bits of the groups of ASCII characters that all lead back to it, none counted


class StateColumn(IntEnum):
    """Columns of `TableArrays.states`."""

    LEXER_START = 0
    ACTIONS = 1  # label l is row ACTIONS + l - 1 of `actions`
    NUM_LABELS = 2
    IS_FINAL = 3
    COUNT_MIN = 4
    COUNT_MAX = 5
    FULL_OUTCOME = 6  # outcome id
    RESUMES = 7  # first row of this state's chain in `resumes`, 0 where there is none
    WINDOW = 8  # bits of the labels that the state reads; all bits where it reads all
    FAR_SET = 9  # where the bits of the far labels that it reads begin in `far_sets`, 0 for none
    FAR_SPANS = 10  # lexer state q has its span in row FAR_SPANS + q of `far_spans`


class TableArrays(NamedTuple):
    """What the kernels read, while `AutomatonTables.lock` is held; rows past the used ones are 0.

    Attributes:
        lexers: int64, (lexer states, 11), see `LexerColumn`.
        transitions: int32, flat; global lexer states.
        classes: uint16, flat.
        states: int64, (structural states, 11), see `StateColumn`.
        actions: int64, (n, 3): kind; GOTO target, PUSH resume or POP outcome id; PUSH inner.
        resumes: int64, (n, 3): outcome id, target, next row of the chain or 0.
        far_spans: int32, (n, 2): the first and the last far label that a lexer state can reach, the
            least far one being 0; the first is greater where there is none.
        far_sets: int64, flat: sets of far labels, 64 a word.
    """

    lexers: NDArray[np.int64]
    transitions: NDArray[np.int32]
    classes: NDArray[np.uint16]
    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    resumes: NDArray[np.int64]
    far_spans: NDArray[np.int32]
    far_sets: NDArray[np.int64]


class GrowingArray:
    """An array of which the first `used` rows are in use; doubles when it is full."""

    def __init__(
        self, width: int | None, dtype: DTypeLike, used: int, *, capacity: int = 64
    ) -> None:
        shape = (capacity,) if width is None else (capacity, width)
        self.array: NDArray[np.generic] = np.zeros(shape, dtype)
        self.used = used

    def reserve(self, count: int) -> int:
        """Make room for `count` more rows and return the first of them."""
        first, self.used = self.used, self.used + count
        if self.used > len(self.array):
            grown = np.zeros(
                (max(self.used, 2 * len(self.array)), *self.array.shape[1:]), self.array.dtype
            )
            grown[:first] = self.array[:first]
            self.array = grown
        return first
