"""all_costs: what every state costs for every outcome, see `Completion`."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import TYPE_CHECKING, TypeAlias

from grammars.pushdown.actions import Dead, Goto, Pop, Push

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.pushdown.actions import Action

Costs: TypeAlias = dict[int, int]
"""Tokens until a frame is popped, by the outcome that it is popped with."""


def all_costs(
    start: int,
    moves: Callable[[int], Iterator[tuple[int, Action]]],
    resume: Callable[[int, int], int],
) -> dict[int, Costs]:
    """The least costs of all states that can be reached (D. E. Knuth, 1977).

    A state's cost of an outcome is settled in the order of these costs, when nothing cheaper can
    come any more.

    Args:
        start: where to begin.
        moves: of a state: what its terminals cost, and what they do.
        resume: the state that another becomes when the frame above it is popped with an outcome.
    """
    costs: dict[int, Costs] = defaultdict(dict)
    goes_on: dict[int, list[tuple[int, int]]] = defaultdict(list)  # target -> (state, cost)
    pushes: dict[int, list[tuple[int, int, int]]] = defaultdict(
        list
    )  # inner -> state, resume, cost
    queue: list[tuple[int, int, int]] = []
    seen, unseen = {start}, [start]

    def visit(state: int) -> None:
        if state not in seen:
            seen.add(state)
            unseen.append(state)

    def follow(state: int, target: int, distance: int) -> None:
        """The state goes on as the target, so many tokens later."""
        goes_on[target].append((state, distance))
        visit(target)
        for outcome, cost in costs[target].items():
            heappush(queue, (distance + cost, state, outcome))

    def look(state: int) -> None:
        for distance, action in moves(state):
            match action:
                case Goto(target):
                    follow(state, target, distance)
                case Push(below, inner):
                    pushes[inner].append((state, below, distance))
                    visit(inner)
                    for outcome, cost in list(costs[inner].items()):
                        follow(state, resume(below, outcome), distance + cost)
                case Pop(outcome):
                    heappush(queue, (distance, state, outcome))
                case Dead():
                    pass

    while unseen or queue:
        if unseen:
            look(unseen.pop())
            continue
        cost, state, outcome = heappop(queue)
        if outcome in costs[state]:
            continue
        costs[state][outcome] = cost
        for other, distance in list(goes_on[state]):
            heappush(queue, (distance + cost, other, outcome))
        for other, below, distance in list(pushes[state]):
            follow(other, resume(below, outcome), distance + cost)
    return {state: found for state, found in costs.items() if found}
