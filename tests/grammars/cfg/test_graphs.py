"""Graphs of rules: strongly connected components, and numbers grouped by others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grammars.cfg.components import strong_components
from grammars.cfg.grouped import Grouped

VERTICES = range(7)
GRAPHS = st.fixed_dictionaries({v: st.lists(st.sampled_from(VERTICES)) for v in VERTICES})


def reached_from(graph, start):
    reached, pending = {start}, [start]
    for vertex in pending:
        new = [target for target in graph[vertex] if target not in reached]
        reached.update(new)
        pending += new
    return reached


@given(GRAPHS)
def test_components_are_what_reaches_each_other_and_come_after_what_they_lead_to(graph):
    reached = {vertex: reached_from(graph, vertex) for vertex in graph}
    found = list(strong_components(graph))
    assert sorted(vertex for component in found for vertex in component) == list(VERTICES)
    place = {vertex: i for i, component in enumerate(found) for vertex in component}
    for one in VERTICES:
        for other in reached[one]:
            assert place[other] <= place[one]
            assert (place[one] == place[other]) == (one in reached[other])


def test_a_long_chain_needs_no_recursion():
    graph = {vertex: [vertex + 1] for vertex in range(50_000)} | {50_000: [49_999]}
    sizes = [len(component) for component in strong_components(graph)]
    assert sizes == [2, *[1] * 49_999]


@given(st.lists(st.tuples(st.sampled_from(VERTICES), st.integers(-5, 2**40))))
def test_values_are_grouped_in_order(pairs):
    grouped = Grouped([key for key, _ in pairs], [value for _, value in pairs], len(VERTICES))
    for key in VERTICES:
        assert grouped[key] == [value for other, value in pairs if other == key]
