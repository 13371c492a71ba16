"""strong_components: R. Tarjan, "Depth-first search and linear graph algorithms" (1972)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Vertex = TypeVar("Vertex")


def strong_components(graph: Mapping[Vertex, Iterable[Vertex]]) -> list[list[Vertex]]:
    """The strongly connected components, each after all that it leads to; without recursion.

    Args:
        graph: vertex -> where its edges lead; every vertex is a key.
    """
    index: dict[Vertex, int] = {}
    low: dict[Vertex, int] = {}
    stack: list[Vertex] = []
    on_stack: set[Vertex] = set()
    components: list[list[Vertex]] = []
    for root in graph:
        if root in index:
            continue
        path = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while path:
            vertex, targets = path[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    path.append((target, iter(graph[target])))
                    break
                if target in on_stack:
                    low[vertex] = min(low[vertex], index[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[vertex])
                if low[vertex] == index[vertex]:
                    component: list[Vertex] = []
                    while not component or component[-1] != vertex:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    components.append(component)
    return components
