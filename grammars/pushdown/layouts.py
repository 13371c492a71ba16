"""Layouts: object and array shapes made ready for generation: order of keys, where to close."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grammars.schema.graph import ValueGraph
    from grammars.schema.value import ArrayShape, NodeId, ObjectShape
    from grammars.spec import Whitespace


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """A declared key that may be written.

    Args:
        spelling: the key as a JSON string, quotes included.
        node: its value.
        is_required: whether it may not be left out.
    """

    spelling: bytes
    node: NodeId
    is_required: bool


@dataclass(frozen=True, slots=True, eq=False)
class ObjectLayout:
    """An object shape in generation order: declared keys, then required ones, then additional ones.

    Compared by identity; `JsonContext` makes one per shape.

    Args:
        keys: the keys that may be written, in order.
        reach: reach[i] is the index after the last key that may be written next when keys before i
            are done: past optional keys, up to and with the first required one.
        declared: all declared names; an additional key is none of them.
        additional: the node of additional values; None where no additional key may be written.
    """

    keys: tuple[ObjectKey, ...]
    reach: tuple[int, ...]
    declared: frozenset[str]
    additional: NodeId | None

    def may_close(self, index: int) -> bool:
        """Whether no required key is left from `index` on."""
        return not any(key.is_required for key in self.keys[index : self.reach[index]])


@dataclass(frozen=True, slots=True, eq=False)
class ArrayLayout:
    """An array shape; compared by identity."""

    shape: ArrayShape

    def may_close(self, count: int) -> bool:
        """Whether `count` elements are enough."""
        return count >= self.shape.min_items

    def may_continue(self, count: int) -> bool:
        """Whether another element may follow `count` of them."""
        return self.shape.max_items is None or count < self.shape.max_items

    def settled(self, count: int) -> int:
        """The least count that behaves like `count`: once nothing is bounded, all are equal."""
        if self.shape.max_items is not None:
            return count
        return min(count, max(self.shape.min_items, len(self.shape.prefix), 1))


class JsonContext:
    """One embedded schema: its graph, its whitespace, and the layouts of its shapes.

    Args:
        graph: the evaluated schema.
        whitespace: what may stand after ':' and ','.
    """

    def __init__(self, graph: ValueGraph, whitespace: Whitespace) -> None:
        self.graph = graph
        self.gap = b" " if whitespace == "single" else b""
        self._objects: dict[ObjectShape, ObjectLayout] = {}
        self._arrays: dict[ArrayShape, ArrayLayout] = {}

    def object_layout(self, shape: ObjectShape) -> ObjectLayout:
        """The layout of an object shape."""
        known = self._objects.get(shape)
        if known is None:
            known = self._lay_out(shape)
            self._objects[shape] = known
        return known

    def array_layout(self, shape: ArrayShape) -> ArrayLayout:
        """The layout of an array shape."""
        return self._arrays.setdefault(shape, ArrayLayout(shape))

    def _lay_out(self, shape: ObjectShape) -> ObjectLayout:
        members = dict(shape.properties)
        required = frozenset(shape.required)
        order = dict.fromkeys([*members, *shape.required])
        keys = tuple(
            ObjectKey(spell(name), members.get(name, shape.additional), name in required)
            for name in order
            if self.graph.is_productive(members.get(name, shape.additional))
        )
        reach = [len(keys)] * (len(keys) + 1)
        for index in range(len(keys) - 1, -1, -1):
            reach[index] = index + 1 if keys[index].is_required else reach[index + 1]
        productive = self.graph.is_productive(shape.additional)
        return ObjectLayout(
            keys, tuple(reach), frozenset(order), shape.additional if productive else None
        )


def spell(text: str) -> bytes:
    """A text as a JSON string in canonical spelling: UTF-8, escapes only where they must be."""
    return json.dumps(text, ensure_ascii=False).encode()
