"""Part: what one call of `walk` looks at; Walked: what it has come upon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.masks.kernels.walk import NO_LABEL_FIRST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.trie import Trie

NO_COUNTS: Final = np.zeros(0, np.uint16)
"""Of tokens of which none is left out."""

NO_GROUPS: Final = np.zeros(0, np.int64)
"""Of a trie of which nothing else is known."""


class Part(NamedTuple):
    """What `walk` is asked for, see there.

    Attributes:
        trie: of the tokens, all of them unless `limit` is given.
        groups: see there.
        first_child: see there.
        limit: see there.
        label: see there.
        beside: see there.
        num_counted: see there.
        fewest: see there.
        most: see there.
        halts: see there.
    """

    trie: Trie
    groups: NDArray[np.int64] = NO_GROUPS
    first_child: int = 0
    limit: int | None = None
    label: int = NO_LABEL_FIRST
    beside: int = DEAD
    num_counted: NDArray[np.uint16] = NO_COUNTS
    fewest: int = 0
    most: int = 0
    halts: bool = False


class Walked(NamedTuple):
    """What walks have come upon beside tokens.

    Attributes:
        num_frames: below the top, that were looked at.
        doors: nodes of tries behind which they did not go.
    """

    num_frames: int
    doors: tuple[tuple[Trie, int], ...] = ()

    def and_then(self, other: Walked) -> Walked:
        """Of these walks and others."""
        return Walked(max(self.num_frames, other.num_frames), self.doors + other.doors)
