"""A `Dfa` as Graphviz text, its edges labelled with readable symbol ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammars.automata.dfa import Dfa

_NAMES = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r", 0x20: "␣", 0x22: '"', 0x5C: "\\"}


def dfa_to_dot(dfa: Dfa, *, name: str = "dfa", label_names: Mapping[int, str] | None = None) -> str:
    """The automaton as a digraph in the DOT language.

    Args:
        dfa: what to draw; the dead state and the edges into it are left out.
        name: the graph's name.
        label_names: text for the labels of accepting states; their numbers where there is none.

    Returns:
        DOT source. Accepting states are double circles with their label; character boundaries are
        drawn bold; control token i is written <i>.
    """
    names = label_names or {}
    lines = [f"digraph {_quoted(name)} {{", "  rankdir=LR;", "  node [shape=circle];"]
    if not dfa.is_empty:
        lines += ["  start [shape=point];", f"  start -> {dfa.start};"]
    for state in range(1, dfa.num_states):
        lines.append(f"  {state} [{_attributes(dfa, state, names)}];")
        for target in np.unique(dfa.next_state[state]):
            if target != DEAD:
                classes = np.flatnonzero(dfa.next_state[state] == target)
                symbols = np.flatnonzero(np.isin(dfa.symbol_class, classes[classes != 0]))
                lines.append(
                    f"  {state} -> {target} [label={_quoted(symbols_text(symbols.tolist()))}];"
                )
    return "\n".join([*lines, "}", ""])


def symbols_text(symbols: list[int]) -> str:
    """Ascending symbols as ranges: `a-z 0x80-0xbf <0>`."""
    runs: list[list[int]] = []
    for symbol in symbols:
        if runs and runs[-1][1] == symbol - 1 and symbol != NUM_BYTES:
            runs[-1][1] = symbol
        else:
            runs.append([symbol, symbol])
    return " ".join(
        _symbol_text(low) if low == high else f"{_symbol_text(low)}-{_symbol_text(high)}"
        for low, high in runs
    )


def _symbol_text(symbol: int) -> str:
    if symbol >= NUM_BYTES:
        return f"<{symbol - NUM_BYTES}>"
    if symbol in _NAMES:
        return _NAMES[symbol]
    return chr(symbol) if 0x20 < symbol < 0x7F else f"0x{symbol:02x}"


def _attributes(dfa: Dfa, state: int, names: Mapping[int, str]) -> str:
    label = int(dfa.label[state])
    text = str(state) if label == NO_LABEL else f"{state}\n{names.get(label, str(label))}"
    attributes = [f"label={_quoted(text)}"]
    if label != NO_LABEL:
        attributes.append("shape=doublecircle")
    if dfa.char_boundary[state]:
        attributes.append("style=bold")
    return " ".join(attributes)


def _quoted(text: str) -> str:
    """A double-quoted DOT string; a newline becomes a line break of the label."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
