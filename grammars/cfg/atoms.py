"""atoms: symbols that no edge of an automaton tells apart, as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import NUM_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray


def atoms(low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
    """The atom of each symbol, int32, (num_symbols,): all bytes, and past them what edges read.

    Args:
        low: int32, (num_edges,); the first symbol that each edge reads.
        high: int32, (num_edges,); the last.
    """
    num_symbols = max(NUM_BYTES, int(high.max(initial=0)) + 1)
    is_first = np.zeros(num_symbols + 1, np.int32)
    is_first[low] = 1
    is_first[high + 1] = 1
    is_first[0] = 0
    return np.cumsum(is_first[:num_symbols], dtype=np.int32)
