"""Layouts: the steps of object and array shapes that can really be taken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Generic

from grammars.schema.plans import PlaceT

if TYPE_CHECKING:
    from grammars.schema.graph import ValueGraph
    from grammars.schema.plans import ArrayPlace, ObjectPlace, Plan, Step
    from grammars.schema.value import ArrayShape, ObjectShape
    from grammars.spec import Whitespace


class Layout(Generic[PlaceT]):
    """The steps of one shape; compared by identity, `JsonContext` makes one per shape.

    Args:
        plan: all steps.
        graph: which nodes have values at all.
    """

    def __init__(self, plan: Plan[PlaceT], graph: ValueGraph) -> None:
        self._plan = plan
        self._graph = graph
        self._steps: dict[PlaceT, tuple[Step[PlaceT], ...]] = {}
        self.start = plan.start

    def steps(self, place: PlaceT) -> tuple[Step[PlaceT], ...]:
        """What may be written at a place such that the shape can still be closed."""
        known = self._steps.get(place)
        if known is None:
            known = tuple(
                step
                for step in self._plan.steps(place)
                if self._graph.is_productive(step.node)
                and self._graph.is_live(self._plan, step.place)
            )
            self._steps[place] = known
        return known

    def may_close(self, place: PlaceT) -> bool:
        """Whether the closing bracket may be written at a place."""
        return self._plan.may_close(place)


class JsonContext:
    """One embedded schema: its graph, its whitespace, and the layouts of its shapes.

    Args:
        graph: the evaluated schema.
        whitespace: what may stand after ':' and ','.
    """

    def __init__(self, graph: ValueGraph, whitespace: Whitespace) -> None:
        self.graph = graph
        self.gap = b" " if whitespace == "single" else b""
        self._objects: dict[ObjectShape, Layout[ObjectPlace]] = {}
        self._arrays: dict[ArrayShape, Layout[ArrayPlace]] = {}

    def object_layout(self, shape: ObjectShape) -> Layout[ObjectPlace]:
        """The layout of an object shape."""
        known = self._objects.get(shape)
        if known is None:
            known = Layout(self.graph.object_plan(shape), self.graph)
            self._objects[shape] = known
        return known

    def array_layout(self, shape: ArrayShape) -> Layout[ArrayPlace]:
        """The layout of an array shape."""
        known = self._arrays.get(shape)
        if known is None:
            known = Layout(self.graph.array_plan(shape), self.graph)
            self._arrays[shape] = known
        return known


def spell(text: str) -> bytes:
    """A text as a JSON string in canonical spelling: UTF-8, escapes only where they must be."""
    return json.dumps(text, ensure_ascii=False).encode()
