"""Layouts: the steps of object and array shapes that can really be taken."""

from __future__ import annotations

import json
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeAlias

from grammars.schema.plans import PlaceT

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa
    from grammars.schema.graph import ValueGraph
    from grammars.schema.object_entries import ObjectEntries
    from grammars.schema.plans import AllBut, ArrayPlace, ObjectPlace, Plan, Step
    from grammars.schema.value import ArrayShape, ObjectShape
    from grammars.spec import PropertyOrder, Whitespace


class Closing(Enum):
    """What stands for the closing bracket among the keys of an object."""

    BRACKET = "}"

    __hash__ = object.__hash__  # as it is compared; that of `Enum` is slower, and asked for often


MemberKey: TypeAlias = "str | CodePointDfa | AllBut | Closing"
"""A declared key, the language of an undeclared one, or the closing bracket."""


class Layout(Generic[PlaceT]):
    """The steps of one shape; compared by identity, `JsonContext` makes one per shape.

    Args:
        plan: all steps.
        graph: which nodes have values at all.
        is_live: whether the shape can be closed from a place.
        keys: of all steps of an object.
        plain_keys: of an object whose places are told by the declared keys that are done.
        is_ordered: whether keys come in the order of the schema.
    """

    def __init__(
        self,
        plan: Plan[PlaceT],
        graph: ValueGraph,
        is_live: Callable[[PlaceT], bool],
        keys: tuple[str | CodePointDfa | AllBut, ...] = (),
        plain_keys: ObjectEntries | None = None,
        *,
        is_ordered: bool = True,
    ) -> None:
        self.keys = keys
        self.plain_keys = plain_keys
        self.is_ordered = is_ordered
        self._plan = plan
        self._graph = graph
        self._is_live = is_live
        self._steps: dict[PlaceT, tuple[Step[PlaceT], ...]] = {}
        self.start = plan.start
        self.has_distinct_texts = plan.has_distinct_texts

    def steps(self, place: PlaceT) -> tuple[Step[PlaceT], ...]:
        """What may be written at a place such that the shape can still be closed."""
        known = self._steps.get(place)
        if known is None:
            known = tuple(
                step
                for step in self._plan.steps(place)
                if self._graph.is_productive(step.node) and self._is_live(step.place)
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
        property_order: the order of keys.
        is_canonical: whether each value is written in one way only, whitespace and the order of
            undeclared keys aside; see `canonical`.
    """

    def __init__(
        self,
        graph: ValueGraph,
        whitespace: Whitespace,
        property_order: PropertyOrder = "schema",
        *,
        is_canonical: bool = False,
    ) -> None:
        self.graph = graph
        self.gap = b" " if whitespace == "single" else b""
        self.is_canonical = is_canonical
        self.has_distinct_keys = is_canonical or property_order == "any" or graph.has_owed_keys
        self._property_order = property_order
        self._whitespace: Whitespace = whitespace
        self._canonical: JsonContext | None = None
        self._objects: dict[ObjectShape, Layout[ObjectPlace]] = {}
        self._arrays: dict[ArrayShape, Layout[ArrayPlace]] = {}

    @property
    def has_distinct_texts(self) -> bool:
        """Whether something in the schema must differ that the automaton cannot compare."""
        has_open_keys = self.has_distinct_keys and self.graph.has_open_objects
        return has_open_keys or self.graph.has_unique_arrays

    @property
    def may_repeat_keys(self) -> bool:
        """Whether there are undeclared keys that must differ, also inside of elements."""
        has_distinct_keys = self.has_distinct_keys or self.graph.has_unique_arrays
        return has_distinct_keys and self.graph.has_open_objects

    @property
    def canonical(self) -> JsonContext:
        """The context of elements that must differ: they are compared as they are written."""
        if self.is_canonical:
            return self
        if self._canonical is None:
            self._canonical = JsonContext(
                self.graph, self._whitespace, self._property_order, is_canonical=True
            )
        return self._canonical

    def numbers(self, numbers: Dfa) -> Dfa:
        """How the numbers of a set are written."""
        graph = self.graph
        return (graph.plain_numbers if self.is_canonical else graph.canonical_numbers)(numbers)

    def object_layout(self, shape: ObjectShape) -> Layout[ObjectPlace]:
        """The layout of an object shape."""
        known = self._objects.get(shape)
        if known is None:
            known = self._make_object_layout(shape)
            self._objects[shape] = known
        return known

    def _make_object_layout(self, shape: ObjectShape) -> Layout[ObjectPlace]:
        graph = self.graph
        if self._property_order == "schema":
            ordered = graph.object_plan(shape)
            is_live = partial(graph.is_live, ordered)
            return Layout(ordered, graph, is_live, tuple(ordered.keys()), ordered.plain_keys)
        plan = graph.any_order_plan(shape)
        return Layout(
            plan,
            graph,
            partial(graph.is_live, plan),
            tuple(plan.keys()),
            plan.plain_keys,
            is_ordered=False,
        )

    def array_layout(self, shape: ArrayShape) -> Layout[ArrayPlace]:
        """The layout of an array shape."""
        known = self._arrays.get(shape)
        if known is None:
            plan = self.graph.array_plan(shape)
            known = Layout(plan, self.graph, partial(self.graph.is_live, plan))
            self._arrays[shape] = known
        return known


def spell(text: str) -> bytes:
    """A text as a JSON string in canonical spelling: UTF-8, escapes only where they must be."""
    return _ENCODER.encode(text).encode()


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False)
