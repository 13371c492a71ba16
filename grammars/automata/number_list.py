"""numbers: the automaton of a list of numbers, by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.dfa import NUM_BYTES
from grammars.automata.json_number import checked
from grammars.automata.operations import minimise
from grammars.automata.string_list import strings
from grammars.automata.subset import Nfa, determinise

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from grammars.automata.dfa import Dfa
    from grammars.automata.json_number import NumberSpelling

_WHOLE: Final = "w"
_FRACTION: Final = "f"
"""What stands behind the numbers of a list while they are made an automaton."""

_SYMBOLS: Final = np.frombuffer(b"-.0123456789", np.uint8)
_SYMBOL_OF_BYTE: Final = np.where(
    np.isin(np.arange(NUM_BYTES), _SYMBOLS), np.searchsorted(_SYMBOLS, np.arange(NUM_BYTES)) + 1, 0
).astype(np.int32)


def numbers(
    values: Iterable[Decimal | int],
    *,
    spelling: NumberSpelling = "canonical",
    max_states: int = 50_000,
) -> Dfa:
    """A finite set of numbers, by value (1 and 1.0 are one number); label 1, minimal.

    The canonical spelling has no exponent and no trailing zeros: `100`, `0.5`, never `1e2` or `-0`.

    Raises:
        LimitExceededError: more than `max_states` states, or more than MAX_NUMBER_DIGITS digits
            in a value.
    """
    texts = {_plain(value) for value in values}
    if spelling == "every" and "0" in texts:
        texts.add("-0")
    return minimise(_listed(texts, max_states, has_zeros=spelling == "every"))


def _listed(texts: set[str], max_states: int, *, has_zeros: bool) -> Dfa:
    """The automaton of plain decimals; if wanted, with any number of zeros after the point."""
    marked = strings(
        [text + (_FRACTION if "." in text else _WHOLE) for text in texts], max_states=max_states
    )
    first, symbol, target = marked.edge_lists()
    source = np.repeat(np.arange(marked.num_states, dtype=np.int32), np.diff(first))
    character = np.zeros(int(symbol.max(initial=0)) + 1, np.int32)
    character[marked.range_class] = marked.range_start
    data = character[symbol]
    is_end = np.isin(data, (ord(_WHOLE), ord(_FRACTION)))
    point, zeros = marked.num_states, marked.num_states + 1
    accepting = np.zeros(marked.num_states + 2, np.bool_)
    accepting[source[is_end]] = True
    if has_zeros:  # a point follows a whole number, and zeros a point or a fraction
        is_whole = data == ord(_WHOLE)
        target = np.where(is_whole, point, np.where(is_end, zeros, target))
        data = np.where(is_whole, ord("."), np.where(is_end, ord("0"), data))
        source = np.append(source, (point, zeros))
        data = np.append(data, (ord("0"), ord("0")))
        target = np.append(target, (zeros, zeros))
        accepting[zeros] = True
    else:
        source, data, target = source[~is_end], data[~is_end], target[~is_end]
    low = _SYMBOL_OF_BYTE[data]
    nothing = np.zeros(0, np.int32)
    nfa = Nfa(
        num_states=len(accepting),
        start=marked.start,
        epsilon_source=nothing,
        epsilon_target=nothing,
        source=source.astype(np.int32),
        low=low,
        high=low,
        target=target.astype(np.int32),
        accepting=accepting,
        num_symbols=len(_SYMBOLS) + 1,
    )
    table = determinise(nfa, max_states=max_states, what="a list of numbers")
    label = np.zeros(len(table.next_state), np.int32)
    label[table.state_of_item()[accepting[table.set_items]]] = 1
    return build_dfa(table.next_state, _SYMBOL_OF_BYTE, label, table.start)


def _plain(value: Decimal | int) -> str:
    """The canonical spelling."""
    value = checked(value)
    if value == 0:
        return "0"
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
