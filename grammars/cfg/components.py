"""strong_components: R. Tarjan, "Depth-first search and linear graph algorithms" (1972)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Vertex = TypeVar("Vertex")

_IN_COMPONENT: Final = 2**63
"""More than any index."""


def strong_components(graph: Mapping[Vertex, Iterable[Vertex]]) -> Iterator[list[Vertex]]:
    """The strongly connected components, each after all that it leads to; without recursion.

    Args:
        graph: vertex -> where its edges lead; every vertex is a key.
    """
    low: dict[Vertex, int] = {}  # the least index on the stack that is known to be reached
    stack: list[Vertex] = []  # what was reached and is in no component yet
    for root in graph:
        if root in low:
            continue
        low[root] = len(low)
        stack.append(root)
        path, indices, rest = [root], [low[root]], [iter(graph[root])]
        while path:
            vertex = path[-1]
            for target in rest[-1]:
                known = low.get(target)
                if known is None:
                    known = low[target] = len(low)
                    stack.append(target)
                    path.append(target)
                    indices.append(known)
                    rest.append(iter(graph[target]))
                    break
                if known < low[vertex]:
                    low[vertex] = known
            else:
                path.pop()
                rest.pop()
                lowest = low[vertex]
                if lowest == indices.pop():
                    component: list[Vertex] = []
                    while not component or component[-1] != vertex:
                        component.append(stack.pop())
                        low[component[-1]] = _IN_COMPONENT
                    yield component
                elif lowest < low[path[-1]]:
                    low[path[-1]] = lowest
