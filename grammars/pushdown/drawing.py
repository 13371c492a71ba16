"""draw: the structural states of a grammar as Graphviz text (`tightrope check --dot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.pushdown.actions import Dead, Goto, Pop, Push

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.pushdown.structural import StructuralStates
    from grammars.pushdown.tables import AutomatonTables


def draw(states: StructuralStates, tables: AutomatonTables, *, max_states: int = 200) -> str:
    """Draw the states reachable from the root, expanding them.

    A solid edge reads a terminal; a dashed one leads into a new frame (and its label says where the
    frame below goes on); a state with a bar of "pop" ends its frame; a double circle ends the text.

    Args:
        states: the structural layer of the grammar.
        tables: its tables.
        max_states: states drawn at most; a last node says so where there are more.

    Returns:
        A digraph in the DOT language; states are numbered as they are come across, from 1.
    """
    numbers = _Numbers()
    lines = ["digraph grammar {", "  rankdir=LR;", '  node [shape=circle, fontname="monospace"];']
    lines += ['  edge [fontname="monospace"];', "  start [shape=point];"]
    lines.append(f"  start -> {numbers[states.root]};")
    order, seen = [states.root], {states.root}
    for state in order:
        number = numbers[state]
        lines.append(f"  {number} [{_node(states, tables, state, number)}];")
        for target, attributes in _edges(states, tables, state, numbers):
            if target not in seen and len(seen) >= max_states:
                lines.append(f'  more [shape=none, label="..."]; {number} -> more;')
                continue
            if target not in seen:
                seen.add(target)
                order.append(target)
            lines.append(f"  {number} -> {numbers[target]} [{attributes}];")
    return "\n".join([*lines, "}", ""])


class _Numbers(dict[int, int]):
    """What each state is called in the drawing."""

    def __missing__(self, state: int) -> int:
        number = self[state] = len(self) + 1
        return number


def _node(states: StructuralStates, tables: AutomatonTables, state: int, number: int) -> str:
    pops = [
        states.label_name(state, label)
        for label in range(1, states.num_labels(state) + 1)
        if isinstance(_action(states, tables, state, label), Pop)
    ]
    shape = "shape=doublecircle" if states.is_final(state) else "shape=circle"
    label = f"{number}" + "".join(f"\\n{_quoted(name)} pop" for name in pops)
    return f'{shape}, label="{label}"'


def _edges(
    states: StructuralStates, tables: AutomatonTables, state: int, numbers: _Numbers
) -> Iterator[tuple[int, str]]:
    for label in range(1, states.num_labels(state) + 1):
        name = _quoted(states.label_name(state, label))
        match _action(states, tables, state, label):
            case Goto(target):
                yield target, f'label="{name}"'
            case Push(resume, inner):
                yield inner, f'label="{name} push {numbers[resume]}", style=dashed'
                yield resume, 'label="after", style=dotted'
            case Pop() | Dead() | None:
                pass


def _action(
    states: StructuralStates, tables: AutomatonTables, state: int, label: int
) -> Goto | Push | Pop | Dead | None:
    if tables.action(state, label) is None:
        states.expand_action(state, label)
    return tables.action(state, label)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\\\n")
