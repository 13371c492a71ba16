"""The algorithms in their plain form: what the kernels must agree with, to be read first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.automata.minimise import FIRST_ACCEPTING_KIND, MinimalTable
from grammars.automata.subset import SubsetTable

if TYPE_CHECKING:
    from grammars.automata.kernels import Ints
    from grammars.automata.subset import Nfa


def determinise(nfa: Nfa) -> SubsetTable:
    """The subset construction of `subset.determinise`, without its limit and its shortcuts."""
    epsilons: dict[int, list[int]] = {}
    for source, target in zip(nfa.epsilon_source, nfa.epsilon_target, strict=True):
        epsilons.setdefault(int(source), []).append(int(target))
    edges: dict[int, list[tuple[int, int, int]]] = {}
    for source, low, high, target in zip(nfa.source, nfa.low, nfa.high, nfa.target, strict=True):
        edges.setdefault(int(source), []).append((int(low), int(high), int(target)))

    def closure(states: set[int]) -> frozenset[int]:
        reached, waiting = set(states), list(states)
        while waiting:
            for target in epsilons.get(waiting.pop(), []):
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return frozenset(reached)

    def after(states: frozenset[int], symbol: int) -> frozenset[int]:
        return closure(
            {
                target
                for state in states
                for low, high, target in edges.get(state, [])
                if low <= symbol <= high
            }
        )

    number = {frozenset[int](): DEAD}
    sets = [closure({nfa.start})]
    number[sets[0]] = 1
    rows = [[DEAD] * nfa.num_symbols]
    for states in sets:  # grows while it is read
        row = []
        for symbol in range(nfa.num_symbols):
            following = after(states, symbol)
            if following not in number:
                number[following] = len(number)
                sets.append(following)
            row.append(number[following])
        rows.append(row)
    sizes = [0, *(len(states) for states in sets)]
    items = [item for states in sets for item in sorted(states)]
    return SubsetTable(
        np.array(rows, np.int32),
        1,
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int32),
        np.array(items, np.int32),
    )


def minimise_table(next_state: Ints, start: int, kind: Ints) -> MinimalTable:
    """Moore's partition refinement (1956): split blocks until all members of one move alike."""
    num_states, num_symbols = next_state.shape
    live = set(np.flatnonzero(kind >= FIRST_ACCEPTING_KIND).tolist())
    while True:
        more = {s for s in range(1, num_states) if live.intersection(next_state[s].tolist())}
        if more <= live:
            break
        live |= more
    rows = [[int(t) if int(t) in live else DEAD for t in next_state[s]] for s in range(num_states)]
    block = {s: int(kind[s]) + 1 for s in live} | {DEAD: 0}
    while True:
        signature = {s: (block[s], *(block[t] for t in rows[s])) for s in block}
        numbers = {key: i for i, key in enumerate(sorted(set(signature.values())))}
        refined = {s: numbers[signature[s]] for s in block}
        if len(set(refined.values())) == len(set(block.values())):
            break
        block = refined
    if start not in live:
        return MinimalTable(np.zeros((1, num_symbols), np.int32), DEAD, np.zeros(1, np.int32))
    # Number the blocks breadth-first.
    number = {block[DEAD]: DEAD, block[start]: 1}
    members = [DEAD, start]
    table = [[DEAD] * num_symbols]
    for state in members:  # grows while it is read
        if state == DEAD:
            continue
        row = []
        for target in rows[state]:
            if block[target] not in number:
                number[block[target]] = len(number)
                members.append(target)
            row.append(number[block[target]])
        table.append(row)
    return MinimalTable(np.array(table, np.int32), 1, np.array(members, np.int32))
