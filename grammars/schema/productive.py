"""Which nodes some JSON value satisfies, and values without the parts that nothing satisfies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from grammars.schema.value import ArrayShape, NodeId, ObjectShape, Value


def productive_nodes(root: NodeId, evaluate: Callable[[NodeId], Value]) -> frozenset[NodeId]:
    """The nodes reachable from `root` that some value satisfies: a least fixpoint.

    A value is satisfiable by a scalar, or by a shape whose required members all are. Every
    reachable node is evaluated, so whatever is wrong anywhere in the schema is found here.
    """
    values: dict[NodeId, Value] = {}
    pending = [root]
    while pending:
        node = pending.pop()
        if node not in values:
            values[node] = evaluate(node)
            pending.extend(_members(values[node]))
    productive: set[NodeId] = set()
    waiting_for: dict[NodeId, list[NodeId]] = {}  # member -> nodes to look at again
    queue = list(values)
    while queue:
        node = queue.pop()
        if node in productive:
            continue
        missing = _missing(values[node], productive)
        if missing is None:
            productive.add(node)
            queue.extend(waiting_for.pop(node, ()))
        else:
            for member in missing:
                waiting_for.setdefault(member, []).append(node)
    return frozenset(productive)


def live_value(value: Value, productive: Container[NodeId]) -> Value:
    """The same set of JSON values, without shapes and members that cannot be satisfied.

    A declared optional key whose value cannot exist stays declared, so that it does not come back
    as an additional key; the lowering never offers it.
    """
    return replace(
        value,
        objects=tuple(s for s in value.objects if not any(_unmet_object(s, productive))),
        arrays=tuple(
            _live_array(s, productive) for s in value.arrays if not any(_unmet_array(s, productive))
        ),
    )


def unsatisfiable_member(value: Value, productive: Container[NodeId]) -> tuple[str, NodeId] | None:
    """A required member that nothing satisfies, in words, and its node; None if there is none."""
    for shape in value.objects:
        for key in shape.required:
            if shape.member(key) not in productive:
                return f"the key {key!r}", shape.member(key)
    for array in value.arrays:
        for node in _unmet_array(array, productive):
            return "an array element", node
    return None


def _members(value: Value) -> Iterator[NodeId]:
    for shape in value.objects:
        yield shape.additional
        yield from (node for _, node in shape.properties)
    for array in value.arrays:
        yield array.rest
        yield from array.prefix


def _missing(value: Value, productive: Container[NodeId]) -> list[NodeId] | None:
    """None where the value is satisfiable; else one unmet member per shape (to wait for)."""
    if value.has_scalar:
        return None
    missing: list[NodeId] = []
    for unmet in (
        *(_unmet_object(shape, productive) for shape in value.objects),
        *(_unmet_array(shape, productive) for shape in value.arrays),
    ):
        first = next(unmet, None)
        if first is None:
            return None
        missing.append(first)
    return missing


def _unmet_object(shape: ObjectShape, productive: Container[NodeId]) -> Iterator[NodeId]:
    members = dict(shape.properties)
    nodes = (members.get(key, shape.additional) for key in shape.required)
    return (node for node in nodes if node not in productive)


def _unmet_array(shape: ArrayShape, productive: Container[NodeId]) -> Iterator[NodeId]:
    needed = list(shape.prefix[: shape.min_items])
    if shape.min_items > len(shape.prefix):
        needed.append(shape.rest)
    return (node for node in needed if node not in productive)


def _live_array(shape: ArrayShape, productive: Container[NodeId]) -> ArrayShape:
    bound = next((i for i, n in enumerate(shape.prefix) if n not in productive), None)
    if bound is None and shape.rest not in productive:
        bound = len(shape.prefix)
    if bound is None or (shape.max_items is not None and shape.max_items <= bound):
        return shape
    return replace(shape, max_items=bound)
