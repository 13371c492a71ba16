"""NodeTable: the nodes of a schema and of their boolean combinations, each once.

Conjunctions are interned by the set of their members, so recursive schemas intersected with each
other stay finite. Nothing is evaluated here.
"""

from __future__ import annotations

import json
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from grammars.errors import GrammarError, LimitExceededError
from grammars.schema.document import Place
from grammars.schema.keywords import ENFORCED_KEYWORDS
from grammars.schema.leaves import exact, leaf_key, only_type
from grammars.schema.node_sketches import NodeSketches
from grammars.schema.nodes import (
    Conjunction,
    ConstantNode,
    Negation,
    Node,
    ValueNode,
    members_of,
)
from grammars.schema.value import ArrayShape, ObjectShape, StringSet, Value

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa
    from grammars.limits import CompileLimits
    from grammars.schema.document import Json, SchemaDocument
    from grammars.schema.resources import DynamicScope
    from grammars.schema.value import NodeId

_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_BESIDE_REFERENCE: Final = ENFORCED_KEYWORDS - _DEFINITIONS - {"$ref"}

_ANYTHING: Final[NodeId] = 0
_NOTHING: Final[NodeId] = 1


@lru_cache(maxsize=8)
def _everything(all_numbers: Dfa) -> Value:
    """The value of `_ANYTHING`, the same object for all schemas."""
    return Value(
        has_null=True,
        booleans=frozenset((True, False)),
        numbers=all_numbers,
        strings=StringSet(),
        objects=(ObjectShape((), (), _ANYTHING),),
        arrays=(ArrayShape((), _ANYTHING),),
    )


class NodeTable:
    """The nodes of one schema document; makes them, and tells what is seen of them at once.

    Args:
        document: resolves references.
        limits: compile budgets.
        all_numbers: as values hold them.

    Attributes:
        anything: the node of all values.
        nothing: the node of no value.
        everything: the value of `anything`.
    """

    def __init__(self, document: SchemaDocument, limits: CompileLimits, all_numbers: Dfa) -> None:
        self._document = document
        self._limits = limits
        self._nodes: list[Node] = [Place("(anything)", True), Place("(nothing)", False)]
        self._ids: dict[object, NodeId] = {}
        self._targets: dict[tuple[str, DynamicScope], NodeId] = {}
        self._of_type: dict[str, NodeId] = {}
        self._both: dict[tuple[NodeId, NodeId], NodeId] = {}
        self.anything, self.nothing = _ANYTHING, _NOTHING
        self.everything = _everything(all_numbers)

    @cached_property
    def _sketches(self) -> NodeSketches:
        """Made for the first nodes that are combined."""
        return NodeSketches(self._nodes, self._document, self.everything)

    def __getitem__(self, node: NodeId) -> Node:
        return self._nodes[node]

    def describe(self, node: NodeId) -> str:
        """Where a node comes from, for error messages and drawings."""
        match self._nodes[node]:
            case Place(pointer):
                return pointer or "(root)"
            case ConstantNode(value):
                return json.dumps(value, default=str)  # a decimal between quotes will do here
            case ValueNode():
                return "(value)"
            case Conjunction(members):
                return " and ".join(self.describe(member) for member in members)
            case Negation(negated):
                return f"not ({self.describe(negated)})"

    def pointer(self, node: NodeId) -> str:
        """The pointer of a subschema that a node is made of."""
        match self._nodes[node]:
            case Place(pointer):
                return pointer
            case Conjunction(members):
                return self.pointer(members[0])
            case Negation(negated):
                return self.pointer(negated)
            case _:
                return ""

    def child(self, pointer: str, schema: Json, scope: DynamicScope) -> NodeId:
        """The node of the subschema at `pointer`, reached from a place in a dynamic scope."""
        only = only_type(schema)  # of half of all subschemas, a few nodes
        node = None if only is None else self._of_type.get(only)
        if node is None:
            node = self.place_node(self._document.place(pointer, schema, scope))
            if only is not None:
                self._of_type[only] = node
        return node

    def place_node(self, place: Place) -> NodeId:
        """The node of the subschema at a place."""
        if isinstance(place.schema, bool) or not place.schema:
            return self.nothing if place.schema is False else self.anything
        if self._only_refers(place.schema):
            return self._target(place)
        return self.schema_node(place)

    def schema_node(self, place: Place) -> NodeId:
        """The node of the subschema at a place, even where it only refers to another."""
        key = leaf_key(place.schema) or (place.pointer, place.scope)
        return self._intern(key, place)

    def constant_node(self, value: Json) -> NodeId:
        """The node of one JSON value."""
        return self._intern(("constant", exact(value)), ConstantNode(value))

    def value_node(self, value: Value) -> NodeId:
        """The node of a value."""
        return self._intern(value, ValueNode(value))

    def conjoin(self, a: NodeId, b: NodeId) -> NodeId:
        """The node of what is in both."""
        if a == b or b == self.anything:
            return a
        if a == self.anything:
            return b
        known = self._both.get((a, b))
        if known is None:
            known = self._both[a, b] = self._conjoined(a, b)
        return known

    def _conjoined(self, a: NodeId, b: NodeId) -> NodeId:
        if self.nothing in (a, b):
            return self.nothing
        if self._sketches.of(a).excludes(self._sketches.of(b)):
            return self.nothing
        if self.is_surely_inside(a, b) or self.is_surely_inside(b, a):
            return a if self.is_surely_inside(a, b) else b
        members = dict.fromkeys([*self._members(a), *self._members(b)])
        if any(self._ids.get(("not", member)) in members for member in members):
            return self.nothing
        both = self._intern(frozenset(members), Conjunction(tuple(members)))
        self._sketches.note_meet(both, a, b)
        return both

    def negate(self, node: NodeId) -> NodeId:
        """The node of what is not in another."""
        if node in (self.anything, self.nothing):
            return self.nothing if node == self.anything else self.anything
        entry = self._nodes[node]
        return (
            entry.node
            if isinstance(entry, Negation)
            else self._intern(("not", node), Negation(node))
        )

    def is_surely_inside(self, a: NodeId, b: NodeId) -> bool:
        """Whether a node is seen to be a part of another, without evaluating either."""
        if a in (b, self.nothing) or b == self.anything:
            return True
        return self._sketches.is_inside(a, b)

    def tag_values(self, node: NodeId) -> frozenset[object] | None:
        """The constants of a node that is seen to have no other values; None for other nodes."""
        return self._sketches.of(node).upper.constants

    def union_branches(self, node: NodeId) -> list[NodeId] | None:
        """The branches of a schema that is an `anyOf` and nothing else; None for other nodes."""
        place = self._nodes[node]
        if not isinstance(place, Place) or isinstance(place.schema, bool):
            return None
        schema = place.schema
        branches = schema.get("anyOf")
        if (schema.keys() & ENFORCED_KEYWORDS) - _DEFINITIONS != {"anyOf"}:
            return None
        if not isinstance(branches, list):
            return None
        return [
            self.child(f"{place.pointer}/anyOf/{i}", branch, place.scope)
            for i, branch in enumerate(branches)
        ]

    @staticmethod
    def _only_refers(schema: dict[str, Json]) -> bool:
        """Whether a schema has a `$ref` and asks for nothing else."""
        return "$ref" in schema and _BESIDE_REFERENCE.isdisjoint(schema)

    def _target(self, place: Place) -> NodeId:
        """The node of what a chain of references ends at; of its beginning where it has no end."""
        path: dict[tuple[str, DynamicScope], None] = {}
        current, node = place, None
        while node is None:
            key = (current.pointer, current.scope)
            if key in path:
                return self.schema_node(place)
            path[key] = None
            node = self._targets.get(key)
            if node is None:
                schema = current.schema
                if isinstance(schema, bool) or not self._only_refers(schema):
                    node = self.place_node(current)
                else:
                    try:
                        [current] = self._document.references(current)
                    except GrammarError:  # of the node itself, should somebody look at it
                        return self.schema_node(place)
        self._targets.update(dict.fromkeys(path, node))
        return node

    def _members(self, node: NodeId) -> tuple[NodeId, ...]:
        return members_of(node, self._nodes[node])

    def _intern(self, key: object, entry: Node) -> NodeId:
        known = self._ids.get(key)
        if known is None:
            if len(self._nodes) >= self._limits.max_schema_nodes:
                raise LimitExceededError(
                    "max_schema_nodes", self._limits.max_schema_nodes, "the schema"
                )
            known = len(self._nodes)
            self._nodes.append(entry)
            self._ids[key] = known
        return known
