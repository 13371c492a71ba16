"""Counting keys tells the same as searching through the places of an object."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.limits import CompileLimits
from grammars.schema.graph import ValueGraph
from grammars.schema.plans import can_close, live_places

KEYS = ("a", "b", "c", "d")

objects = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(st.sampled_from(KEYS), st.booleans()),
        "required": st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
        "additionalProperties": st.booleans(),
        "minProperties": st.integers(0, 5),
    },
    optional={
        "maxProperties": st.integers(0, 5),
        "patternProperties": st.sampled_from([{"^[xy]$": True}, {"^[xyz]$": False}]),
        "propertyNames": st.sampled_from([{"enum": ["a", "b", "u", "v"]}, {"maxLength": 3}]),
    },
)


class Productive:
    """The nodes of a graph that have values."""

    def __init__(self, graph: ValueGraph) -> None:
        self._graph = graph

    def __contains__(self, node: object) -> bool:
        return isinstance(node, int) and self._graph.is_productive(node)


def reached(plan, productive):
    places = [plan.start]
    for place in places:
        steps = (step for step in plan.steps(place) if step.node in productive)
        places += dict.fromkeys(step.place for step in steps if step.place not in places)
    return places


@settings(max_examples=150, deadline=None)
@given(schema=objects)
def test_an_object_with_counts_can_be_closed_where_a_search_finds_its_end(schema):
    graph = ValueGraph(json.dumps({"anyOf": [{"type": "null"}, schema]}), CompileLimits())
    productive = Productive(graph)
    for shape in graph.settled(graph.root).objects:
        plan = graph.object_plan(shape)
        if all(node in productive for node in plan.needed()):
            can_be_closed = plan.live_test(productive)
            live = live_places(plan, productive)
            for place in reached(plan, productive):
                assert can_be_closed(place) == (place in live)
            unordered = graph.any_order_plan(shape)
            can_be_closed = unordered.live_test(productive)
            for place in reached(unordered, productive):
                assert can_be_closed(place) == can_close(unordered, productive, place)
