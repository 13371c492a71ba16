"""Symbol classes: merge symbols that no state tells apart, and build the `Dfa`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import Dfa
from grammars.automata.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Ints


def build_dfa(
    next_state: NDArray[np.int32],
    atom_of_symbol: NDArray[np.int32],
    label: NDArray[np.int32],
    start: int,
    char_boundary: NDArray[np.bool_] | None = None,
) -> Dfa:
    """A `Dfa` from a trimmed table over atoms (any partition of the symbols).

    Args:
        next_state: int32, (num_states, num_atoms); row DEAD is all DEAD.
        atom_of_symbol: int32, (num_symbols,); the column of each symbol.
        label: int32, (num_states,).
        start: the initial state.
        char_boundary: bool, (num_states,); None: all False.
    """
    symbol_class, table = merge_columns(next_state, atom_of_symbol)
    if char_boundary is None:
        char_boundary = np.zeros(label.shape[0], np.bool_)
    return Dfa(symbol_class.astype(np.uint16), table, label, start, char_boundary)


@kernel
def merge_columns(next_state: Ints, atom_of_symbol: Ints) -> tuple[Ints, Ints]:
    """Number the distinct columns: (class of each symbol, the table over classes), both int32.

    Class 0 is the class of columns that are all DEAD, present even where there is none.
    """
    num_states, num_atoms = next_state.shape
    code = np.zeros(num_atoms, np.int64)
    is_dead = np.ones(num_atoms, np.bool_)
    for s in range(num_states):
        for a in range(num_atoms):
            value = next_state[s, a]
            if value != 0:
                is_dead[a] = False
            code[a] = (code[a] ^ value) * np.int64(0x9E3779B97F4A7C1) + 1
    class_of_atom = np.full(num_atoms, -1, np.int32)
    representative = np.empty(num_atoms + 1, np.int32)
    num_classes = 1
    symbol_class = np.empty(atom_of_symbol.shape[0], np.int32)
    for symbol in range(atom_of_symbol.shape[0]):
        a = atom_of_symbol[symbol]
        if class_of_atom[a] < 0:
            if is_dead[a]:
                class_of_atom[a] = 0
            else:
                for c in range(1, num_classes):
                    other = representative[c]
                    if code[other] == code[a]:
                        same = True
                        for s in range(num_states):
                            if next_state[s, other] != next_state[s, a]:
                                same = False
                                break
                        if same:
                            class_of_atom[a] = c
                            break
                if class_of_atom[a] < 0:
                    representative[num_classes] = a
                    class_of_atom[a] = num_classes
                    num_classes += 1
        symbol_class[symbol] = class_of_atom[a]
    table = np.zeros((num_states, num_classes), np.int32)
    for s in range(num_states):
        for c in range(1, num_classes):
            table[s, c] = next_state[s, representative[c]]
    return symbol_class, table
