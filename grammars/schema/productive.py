"""Which nodes some JSON value satisfies, and why a node has none."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from grammars.schema.array_plan import ArrayPlan
    from grammars.schema.object_plan import ObjectPlan
    from grammars.schema.plain import Plain
    from grammars.schema.plans import PlaceT, Plan
    from grammars.schema.value import ArrayShape, NodeId, ObjectShape, Value


class Evaluation(Protocol):
    """The graph, as the emptiness check sees it."""

    def outline(self, node: NodeId) -> Plain | None:
        """What a plain schema allows, not evaluated; None for every other node."""
        ...

    def settled(self, node: NodeId) -> Value:
        """The value of a node, in shapes whose plans can be followed."""
        ...

    def object_plan(self, shape: ObjectShape) -> ObjectPlan:
        """The steps of an object shape."""
        ...

    def array_plan(self, shape: ArrayShape) -> ArrayPlan:
        """The steps of an array shape."""
        ...


class Liveness(Evaluation, Protocol):
    """The graph once it is known which nodes some value satisfies."""

    def is_closable(self, plan: Plan[PlaceT]) -> bool:
        """Whether some object or array is of the shape of a plan."""
        ...


def productive_nodes(root: NodeId, graph: Evaluation) -> frozenset[NodeId]:
    """The nodes reachable from `root` that some value satisfies: a least fixpoint.

    A value is satisfiable by a scalar, or by a shape that can be closed with satisfiable members.
    Every reachable node is looked at, so whatever is wrong anywhere in the schema is found here.
    Plain ones, in which nothing can be wrong, are evaluated when a text gets there.
    """
    plain: dict[NodeId, Plain] = {}
    values: dict[NodeId, Value] = {}
    productive: set[NodeId] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if node in plain or node in values:
            continue
        outline = graph.outline(node)
        if outline is not None:
            plain[node] = outline
            pending.extend(outline.members)
            if not outline.needed:
                productive.add(node)
        else:
            values[node] = graph.settled(node)
            for plan in _plans(values[node], graph):
                pending.extend(plan.nodes())
    waiting_for: dict[NodeId, set[NodeId]] = {}  # member -> nodes to look at again
    queue = [*plain, *values]
    while queue:
        node = queue.pop()
        if node in productive:
            continue
        if node in plain:
            missing = _first_missing(plain[node].needed, productive)
        else:
            missing = _missing(values[node], graph, productive)
        if missing is None:
            productive.add(node)
            queue.extend(waiting_for.pop(node, ()))
        else:
            for member in missing:
                waiting_for.setdefault(member, set()).add(node)
    return frozenset(productive)


def live_value(value: Value, graph: Liveness) -> Value:
    """The same set of JSON values, without the shapes that cannot be satisfied."""
    if not (value.objects or value.arrays):
        return value
    objects = tuple(s for s in value.objects if graph.is_closable(graph.object_plan(s)))
    arrays = tuple(s for s in value.arrays if graph.is_closable(graph.array_plan(s)))
    if len(objects) == len(value.objects) and len(arrays) == len(value.arrays):
        return value
    return replace(value, objects=objects, arrays=arrays)


def unsatisfiable_member(
    value: Value, graph: Evaluation, productive: Container[NodeId]
) -> tuple[str, NodeId] | None:
    """A required member that nothing satisfies, in words, and its node; None if there is none."""
    for shape in value.objects:
        for key in shape.required:
            if shape.member(key) not in productive:
                return f"the key {key!r}", shape.member(key)
    for array in value.arrays:
        for node in _missing_in_shape(graph.array_plan(array), productive) or ():
            return "an array element", node
    return None


def _plans(value: Value, graph: Evaluation) -> Iterator[ObjectPlan | ArrayPlan]:
    yield from map(graph.object_plan, value.objects)
    yield from map(graph.array_plan, value.arrays)


def _missing(value: Value, graph: Evaluation, productive: Container[NodeId]) -> list[NodeId] | None:
    """None where the value is satisfiable; else members to wait for."""
    if value.has_scalar:
        return None
    missing: list[NodeId] = []
    objects = (_missing_in_shape(graph.object_plan(s), productive) for s in value.objects)
    arrays = (_missing_in_shape(graph.array_plan(s), productive) for s in value.arrays)
    for unmet in chain(objects, arrays):
        if unmet is None:
            return None
        missing += unmet
    return missing


def _missing_in_shape(plan: Plan[PlaceT], productive: Container[NodeId]) -> list[NodeId] | None:
    """None where the shape can be closed; else nodes of which one has to become productive."""
    unmet = _first_missing(plan.needed(), productive)
    if unmet is not None:
        return unmet
    if not plan.needs_search or plan.live_test(productive)(plan.start):
        return None
    return list({node: None for node in plan.nodes() if node not in productive})


def _first_missing(needed: Iterable[NodeId], productive: Container[NodeId]) -> list[NodeId] | None:
    """The first node that nothing satisfies, alone in a list; None where there is none."""
    unmet = next((node for node in needed if node not in productive), None)
    return None if unmet is None else [unmet]
