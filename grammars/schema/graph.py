"""ValueGraph: the nodes of a schema and of conjunctions of schemas, evaluated to values.

A node is a subschema, a constant, or a conjunction of such nodes. Conjunctions are interned by the
set of their members, so recursive schemas intersected with each other stay finite. Evaluation is
iterative: a chain of ten thousand `$ref`s costs no stack.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from grammars.errors import (
    InvalidGrammarError,
    LimitExceededError,
    UnsatisfiableError,
    UnsupportedError,
)
from grammars.schema.assertions import SchemaObject
from grammars.schema.combine import ValueAlgebra
from grammars.schema.constants import Constants
from grammars.schema.document import Place, SchemaDocument
from grammars.schema.productive import live_value, productive_nodes, unsatisfiable_member
from grammars.schema.value import Value

if TYPE_CHECKING:
    from grammars.limits import CompileLimits
    from grammars.schema.document import Json
    from grammars.schema.value import NodeId


@dataclass(frozen=True, slots=True)
class _SchemaNode:
    place: Place


@dataclass(frozen=True, slots=True)
class _ConstantNode:
    value: Json


@dataclass(frozen=True, slots=True)
class _Conjunction:
    members: tuple[NodeId, ...]  # in order of appearance, which is the order of keys


_Node: TypeAlias = _SchemaNode | _ConstantNode | _Conjunction


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a node's value is made of: its own value, met with a union for each group of nodes."""

    own: Value
    groups: tuple[tuple[NodeId, ...], ...]


class ValueGraph:
    """All nodes of one schema document.

    Args:
        text: the schema as JSON text.
        limits: compile budgets.
        missing_bytes: bytes that the vocabulary cannot spell.

    Raises:
        GrammarError: anything reachable from the root is malformed, refused or over budget, or the
            root is unsatisfiable. After construction nothing is refused any more.
    """

    def __init__(
        self, text: str, limits: CompileLimits, missing_bytes: frozenset[int] = frozenset()
    ) -> None:
        self._document = SchemaDocument(text)
        self._limits = limits
        self._algebra = ValueAlgebra(self._conjoin, limits, missing_bytes)
        self._nodes: list[_Node] = []
        self._ids: dict[object, NodeId] = {}
        self._values: dict[NodeId, Value] = {}
        self._exclusive: list[tuple[Place, tuple[NodeId, ...]]] = []
        self._live: dict[NodeId, Value] = {}
        self._anything = self._child("/additionalProperties", True)
        self._nothing = self._child("/additionalProperties", False)
        self._constants = Constants(self._algebra, self._constant_node, self._nothing)
        self.root: NodeId = self._schema_node(self._document.root)
        self._productive = productive_nodes(self.root, self._evaluate)
        self._check_exclusive()
        if self.root not in self._productive:
            raise UnsatisfiableError(self._why_unsatisfiable())

    def value(self, node: NodeId) -> Value:
        """The value of a reachable node, without members and shapes that nothing can satisfy."""
        known = self._live.get(node)
        if known is None:
            known = live_value(self._values[node], self._productive)
            self._live[node] = known
        return known

    def is_productive(self, node: NodeId) -> bool:
        """Whether some JSON value satisfies the node."""
        return node in self._productive

    def describe(self, node: NodeId) -> str:
        """Where a node comes from, for error messages and drawings."""
        match self._nodes[node]:
            case _SchemaNode(place):
                return place.pointer or "(root)"
            case _ConstantNode(value):
                return json.dumps(value, default=str)
            case _Conjunction(members):
                return " and ".join(self.describe(member) for member in members)

    def _child(self, pointer: str, schema: Json) -> NodeId:
        if schema is True or schema == {}:
            pointer, schema = "(anything)", True
        elif schema is False:
            pointer = "(nothing)"
        return self._schema_node(self._document.place(pointer, schema))

    def _schema_node(self, place: Place) -> NodeId:
        return self._intern(place.pointer, _SchemaNode(place))

    def _constant_node(self, value: Json) -> NodeId:
        return self._intern((json.dumps(value, default=str),), _ConstantNode(value))

    def _conjoin(self, a: NodeId, b: NodeId) -> NodeId:
        if a == b or b == self._anything:
            return a
        if a == self._anything:
            return b
        if self._nothing in (a, b):
            return self._nothing
        members = tuple(dict.fromkeys([*self._members(a), *self._members(b)]))
        return self._intern(frozenset(members), _Conjunction(members))

    def _members(self, node: NodeId) -> tuple[NodeId, ...]:
        entry = self._nodes[node]
        return entry.members if isinstance(entry, _Conjunction) else (node,)

    def _intern(self, key: object, entry: _Node) -> NodeId:
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

    def _evaluate(self, root: NodeId) -> Value:
        """The value of a node, its dependencies first; an explicit stack instead of recursion."""
        pending: list[tuple[NodeId, _Parts | None]] = [(root, None)]
        open_nodes: set[NodeId] = set()
        while pending:
            node, parts = pending.pop()
            if parts is not None:
                self._values[node] = self._combine(parts)
                open_nodes.discard(node)
                continue
            if node in self._values:
                continue
            if node in open_nodes:
                raise InvalidGrammarError(
                    "the schema refers to itself without an object or array in between",
                    pointer=self.describe(node).removeprefix("(root)"),
                )
            open_nodes.add(node)
            parts = self._parts(node)
            pending.append((node, parts))
            pending.extend(
                (member, None) for group in reversed(parts.groups) for member in reversed(group)
            )
        return self._values[root]

    def _combine(self, parts: _Parts) -> Value:
        value = parts.own
        for group in parts.groups:
            union = self._algebra.union(self._values[member] for member in group)
            value = self._algebra.intersect(value, union)
        return value

    def _parts(self, node: NodeId) -> _Parts:
        match self._nodes[node]:
            case _Conjunction(members):
                return _Parts(self._algebra.anything(self._anything), tuple((m,) for m in members))
            case _ConstantNode(value):
                return _Parts(self._constants.only(value), ())
            case _SchemaNode(Place(_, bool(everything))):
                return _Parts(self._algebra.anything(self._anything) if everything else Value(), ())
            case _SchemaNode(place):
                return self._schema_parts(place)

    def _schema_parts(self, place: Place) -> _Parts:
        assert isinstance(place.schema, dict)
        schema = SchemaObject(place, self._child, self._algebra)
        schema.check_keywords()
        own = schema.assertions()
        if "const" in place.schema:
            only = self._constants.only(place.schema["const"])
            own = self._algebra.intersect(own, only)
        if "enum" in place.schema:
            own = self._algebra.intersect(own, self._enumeration(place))
        groups: list[tuple[NodeId, ...]] = []
        if "$ref" in place.schema:
            target = self._document.resolve(place.schema["$ref"], place.pointer)
            groups.append((self._schema_node(target),))
        groups.extend((member,) for member in schema.branches("allOf") or ())
        for keyword in ("anyOf", "oneOf"):
            branches = schema.branches(keyword)
            if branches is not None:
                groups.append(tuple(branches))
                if keyword == "oneOf":
                    self._exclusive.append((place, tuple(branches)))
        return _Parts(own, tuple(groups))

    def _enumeration(self, place: Place) -> Value:
        assert isinstance(place.schema, dict)
        given = place.schema["enum"]
        if not isinstance(given, list) or not given:
            raise InvalidGrammarError(
                "'enum' must be a non-empty array", pointer=place.pointer, keyword="enum"
            )
        return self._constants.any_of(given)

    def _check_exclusive(self) -> None:
        """Prove that no value satisfies two branches of a oneOf; then it is their union."""
        while self._exclusive:
            place, branches = self._exclusive.pop()
            for i, first in enumerate(branches):
                for j in range(i + 1, len(branches)):
                    both = self._conjoin(first, branches[j])
                    if both in productive_nodes(both, self._evaluate):
                        raise UnsupportedError(
                            f"'oneOf' branches {i} and {j} overlap, and their exclusive union is "
                            "not supported; make them exclude each other or use anyOf",
                            pointer=place.pointer,
                            keyword="oneOf",
                        )

    def _why_unsatisfiable(self) -> str:
        node, path = self.root, "the root"
        blocker: tuple[str, NodeId] | None = None
        seen: set[NodeId] = set()
        while node not in seen:
            seen.add(node)
            blocker = unsatisfiable_member(self._values[node], self._productive)
            if blocker is None:
                break
            step, node = blocker
            path += f" requires {step}, which"
        ending = "allows nothing" if blocker is None else "requires it again, without end"
        return f"no JSON value satisfies the schema: {path} {ending}"
