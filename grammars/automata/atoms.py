"""nfa_over_atoms: edges on ranges of symbols as an automaton over atoms.

An atom is all symbols that no edge tells apart: the fewer there are, the narrower is the table of
the deterministic automaton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import NUM_BYTES
from grammars.automata.subset import Nfa

if TYPE_CHECKING:
    from numpy.typing import NDArray


def nfa_over_atoms(
    edges: NDArray[np.int32],
    epsilons: NDArray[np.int32],
    *,
    start: int,
    accepting: NDArray[np.bool_],
) -> tuple[Nfa, NDArray[np.int32]]:
    """An automaton over atoms, and the atom of each symbol.

    Args:
        edges: int32, (4, num_edges): source, the first and the last symbol, target.
        epsilons: int32, (num_epsilons, 2): source, target.
        start: the state in which texts begin.
        accepting: bool, (num_states,).

    Returns:
        The automaton; int32, (num_symbols,), for all bytes, and past them what edges read.
    """
    # Kernels are compiled for rows that lie in one piece, and anew for others.
    source, low, high, target = np.ascontiguousarray(edges)
    epsilon_source, epsilon_target = np.ascontiguousarray(epsilons.T)
    atom_of_symbol = _atoms(low, high)
    nfa = Nfa(
        num_states=len(accepting),
        start=start,
        epsilon_source=epsilon_source,
        epsilon_target=epsilon_target,
        source=source,
        low=atom_of_symbol[low],
        high=atom_of_symbol[high],
        target=target,
        accepting=accepting,
        num_symbols=int(atom_of_symbol[-1]) + 1,
    )
    return nfa, atom_of_symbol


def _atoms(low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.int32]:
    num_symbols = max(NUM_BYTES, int(high.max(initial=0)) + 1)
    is_first = np.zeros(num_symbols + 1, np.int32)
    is_first[low] = 1
    is_first[high + 1] = 1
    is_first[0] = 0
    return np.cumsum(is_first[:num_symbols], dtype=np.int32)
