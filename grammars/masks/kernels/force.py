"""force: the symbols that must follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.masks.kernels.advance import advance, is_complete
from grammars.masks.kernels.lean import lean_kernel
from grammars.masks.kernels.machine import NUM_MISSING, machine_of, point_above

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from grammars.masks.kernels.machine import Arrays, Ints, Symbols, Tables


@lean_kernel
def force(
    state: int,
    lexer: int,
    counted: int,
    is_fresh: bool,
    window: Ints,
    tables: Tables,
    found: Symbols,
    is_live: NDArray[np.bool_],
    work: Arrays,
) -> int:
    """Go on for as long as exactly one symbol can come next and the text may not end.

    Args:
        state: this and the next four are the starting point, see `walk` and `Point`.
        lexer: see there.
        counted: see there.
        is_fresh: see there.
        window: see there.
        tables: `TableArrays`.
        found: uint16, (limit,); set to the symbols that are followed.
        is_live: bool, (num_symbols,); set to the symbols that may come after them.
        work: a `Workspace`.

    Returns:
        How many symbols were found, at most `limit`.
    """
    machine = machine_of(tables, work, window)
    point = point_above(window, state, lexer, counted, is_fresh)
    num_found = 0
    while True:
        num_live = 0
        for symbol in range(len(is_live)):
            is_live[symbol] = advance(symbol, point, machine).state != 0
            num_live += is_live[symbol]
        is_open = num_live == 1 and not is_complete(point, machine)
        if not is_open or num_found == len(found) or machine.work.met[NUM_MISSING] > 0:
            return num_found
        only = 0
        while not is_live[only]:
            only += 1
        found[num_found] = only
        num_found += 1
        point = advance(only, point, machine)
