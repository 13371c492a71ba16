"""ValueGraph: the nodes of a schema and of their boolean combinations, evaluated to values.

A node is a subschema, a constant, a value, or a conjunction or negation of nodes. Conjunctions are
interned by the set of their members, so recursive schemas intersected with each other stay finite.
Evaluation is iterative: a chain of ten thousand `$ref`s costs no stack.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from grammars.errors import (
    GrammarError,
    InvalidGrammarError,
    LimitExceededError,
    UnsatisfiableError,
    UnsupportedError,
)
from grammars.schema.any_order_plan import AnyOrderPlan
from grammars.schema.applicators import Applicators, Parts
from grammars.schema.array_plan import ArrayPlan
from grammars.schema.combine import ValueAlgebra
from grammars.schema.constants import Constants
from grammars.schema.document import Place, SchemaDocument
from grammars.schema.exclusive import ExclusiveUnion
from grammars.schema.keywords import ENFORCED_KEYWORDS
from grammars.schema.leaves import exact, leaf_key
from grammars.schema.node_sketches import NodeSketches
from grammars.schema.nodes import (
    Conjunction,
    ConstantNode,
    Negation,
    Node,
    SchemaNode,
    ValueNode,
    members_of,
)
from grammars.schema.object_entries import ObjectEntries
from grammars.schema.object_plan import ObjectPlan
from grammars.schema.plain import PlainSchemas
from grammars.schema.plans import live_places
from grammars.schema.productive import live_value, productive_nodes, unsatisfiable_member
from grammars.schema.samples import ValueSamples
from grammars.schema.unique_arrays import UniqueArrays

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa
    from grammars.limits import CompileLimits
    from grammars.schema.document import Json
    from grammars.schema.plain import Plain
    from grammars.schema.plans import ObjectPlace, PlaceT, Plan
    from grammars.schema.resources import DynamicScope
    from grammars.schema.value import ArrayShape, NodeId, ObjectShape, StringSet, Value


_OF_REFERENCE: Final = frozenset({"$ref", "$defs", "definitions"})

_MAX_NESTED: Final = 16
"""Evaluations inside each other; beyond it branches of `oneOf` are taken to overlap."""


class _ReenteredError(Exception):
    """An evaluation inside another one came back to a node that is still open."""


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
        self._nodes: list[Node] = []
        self._ids: dict[object, NodeId] = {}
        self._values: dict[NodeId, Value] = {}
        self._open: set[NodeId] = set()
        self._num_nested = 0
        self._object_entries: dict[ObjectShape, ObjectEntries] = {}
        self._object_plans: dict[ObjectShape, ObjectPlan] = {}
        self._array_plans: dict[ArrayShape, ArrayPlan] = {}
        self._live: dict[NodeId, Value] = {}
        self._outlines: dict[NodeId, Plain | None] = {}
        self._targets: dict[tuple[str, DynamicScope], NodeId] = {}
        self._canonical: dict[Dfa, Dfa] = {}
        self._plain: dict[Dfa, Dfa] = {}
        self._settled: dict[NodeId, Value] = {}
        self._live_places: dict[object, Container[object]] = {}
        self.anything = self._schema_node(Place("(anything)", True))
        self.nothing = self._schema_node(Place("(nothing)", False))
        self._algebra = ValueAlgebra(self, limits, missing_bytes)
        self._plain_schemas = PlainSchemas(self, self._algebra)
        self._sketches = NodeSketches(self._nodes, self._document, self._algebra.everything)
        self._constants = Constants(self._algebra, self._constant_node, self.nothing)
        self._exclusive = ExclusiveUnion(self._algebra, self, self._try_evaluate)
        self._unique_arrays = UniqueArrays(
            ValueSamples(self, limits), self.conjoin, self.negate, self._constant_node, limits
        )
        self.root: NodeId = self._schema_node(self._document.root)
        self._productive = productive_nodes(self.root, self)
        if self.root not in self._productive:
            raise UnsatisfiableError(self._why_unsatisfiable())

    def value(self, node: NodeId) -> Value:
        """The value of a reachable node, without shapes that nothing can satisfy."""
        known = self._live.get(node)
        if known is None:
            known = live_value(self.settled(node), self)
            self._live[node] = known
        return known

    def canonical_numbers(self, numbers: Dfa) -> Dfa:
        """How the numbers of a value are generated; the same object for the same numbers."""
        known = self._canonical.get(numbers)
        if known is None:
            known = self._algebra.scalars.canonical_numbers(numbers)
            self._canonical[numbers] = known
        return known

    def plain_numbers(self, numbers: Dfa) -> Dfa:
        """The one spelling of each number of a set; the same object for the same numbers."""
        known = self._plain.get(numbers)
        if known is None:
            known = self._algebra.scalars.plain_numbers(numbers)
            self._plain[numbers] = known
        return known

    def string_content(self, strings: StringSet) -> CodePointDfa:
        """The strings of a set as one automaton."""
        return self._algebra.scalars.content(strings)

    @property
    def has_unique_arrays(self) -> bool:
        """Whether a reachable node has arrays whose elements must differ."""
        return any(a.is_unique for value in self._settled.values() for a in value.arrays)

    @property
    def has_open_objects(self) -> bool:
        """Whether a reachable node has objects with undeclared keys."""
        outlines = (plain.value for plain in self._outlines.values() if plain is not None)
        values = chain(self._settled.values(), outlines)
        shapes = [shape for value in values for shape in value.objects]
        return any(shape.additional != self.nothing or shape.classes for shape in shapes)

    def string_sets(self) -> Iterator[StringSet]:
        """The sets of strings of all nodes that some value satisfies, but for plain schemas."""
        for node, value in self._settled.items():
            if value.strings is not None and node in self._productive:
                yield value.strings

    def is_productive(self, node: NodeId) -> bool:
        """Whether some JSON value satisfies the node."""
        return node in self._productive

    def object_plan(self, shape: ObjectShape) -> ObjectPlan:
        """The steps of an object shape."""
        known = self._object_plans.get(shape)
        if known is None:
            known = ObjectPlan(shape, self._entries(shape), self._limits.max_places)
            self._object_plans[shape] = known
        return known

    def any_order_plan(self, shape: ObjectShape) -> AnyOrderPlan:
        """The steps of an object shape, its keys in any order."""
        return AnyOrderPlan(shape, self._entries(shape), self._limits.max_places)

    def _entries(self, shape: ObjectShape) -> ObjectEntries:
        known = self._object_entries.get(shape)
        if known is None:
            languages = self._algebra.shapes.languages
            known = ObjectEntries(shape, self.conjoin, self.nothing, languages, self._limits)
            self._object_entries[shape] = known
        return known

    def array_plan(self, shape: ArrayShape) -> ArrayPlan:
        """The steps of an array shape."""
        known = self._array_plans.get(shape)
        if known is None:
            known = ArrayPlan(shape, self.conjoin, self.negate, self._limits)
            self._array_plans[shape] = known
        return known

    def is_closable(self, plan: Plan[PlaceT]) -> bool:
        """Whether some object or array is of the shape of a plan."""
        return all(map(self.is_productive, plan.needed())) and self.is_live(plan, plan.start)

    def is_live(self, plan: Plan[PlaceT], place: PlaceT) -> bool:
        """Whether the shape can be closed from a place that its live steps lead to."""
        if not plan.needs_search:
            return True
        known = self._live_places.get(plan)
        if known is None:
            known = live_places(plan, self._productive)
            self._live_places[plan] = known
        return place in known

    def is_live_in_any_order(self, plan: AnyOrderPlan, place: ObjectPlace) -> bool:
        """Whether the object can be closed from a place that live steps lead to."""
        return not plan.needs_search or plan.is_live(place, self._productive)

    def describe(self, node: NodeId) -> str:
        """Where a node comes from, for error messages and drawings."""
        match self._nodes[node]:
            case SchemaNode(place):
                return place.pointer or "(root)"
            case ConstantNode(value):
                return json.dumps(value, default=str)  # a decimal between quotes will do here
            case ValueNode():
                return "(value)"
            case Conjunction(members):
                return " and ".join(self.describe(member) for member in members)
            case Negation(negated):
                return f"not ({self.describe(negated)})"

    def child(self, pointer: str, schema: Json, scope: DynamicScope) -> NodeId:
        """The node of the subschema at `pointer`, reached from a place in a dynamic scope."""
        return self.place_node(self._document.place(pointer, schema, scope))

    def place_node(self, place: Place) -> NodeId:
        """The node of the subschema at a place."""
        if isinstance(place.schema, bool) or not place.schema:
            return self.nothing if place.schema is False else self.anything
        if self._only_refers(place.schema):
            return self._target(place)
        return self._schema_node(place)

    @staticmethod
    def _only_refers(schema: dict[str, Json]) -> bool:
        """Whether a schema has a `$ref` and asks for nothing else."""
        return "$ref" in schema and schema.keys() & ENFORCED_KEYWORDS <= _OF_REFERENCE

    def _target(self, place: Place) -> NodeId:
        """The node of what a chain of references ends at; of its beginning where it has no end."""
        path: dict[tuple[str, DynamicScope], None] = {}
        current, node = place, None
        while node is None:
            key = (current.pointer, current.scope)
            if key in path:
                return self._schema_node(place)
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
                        return self._schema_node(place)
        self._targets.update(dict.fromkeys(path, node))
        return node

    def value_node(self, value: Value) -> NodeId:
        """The node of a value."""
        return self._intern(value, ValueNode(value))

    def conjoin(self, a: NodeId, b: NodeId) -> NodeId:
        """The node of what is in both."""
        if a == b or b == self.anything:
            return a
        if a == self.anything:
            return b
        if self.nothing in (a, b):
            return self.nothing
        if self._sketches.of(a).excludes(self._sketches.of(b)):
            return self.nothing
        if self.is_surely_inside(a, b) or self.is_surely_inside(b, a):
            return a if self.is_surely_inside(a, b) else b
        members = tuple(dict.fromkeys([*self._members(a), *self._members(b)]))
        if any(self._ids.get(("not", member)) in members for member in members):
            return self.nothing
        return self._intern(frozenset(members), Conjunction(members))

    def is_surely_inside(self, a: NodeId, b: NodeId) -> bool:
        """Whether a node is seen to be a part of another, without evaluating either."""
        if a in (b, self.nothing) or b == self.anything:
            return True
        return self._sketches.is_inside(a, b)

    def outline(self, node: NodeId) -> Plain | None:
        """What a plain schema allows, not evaluated; None for every other node."""
        if node not in self._outlines:
            entry = self._nodes[node]
            is_schema = isinstance(entry, SchemaNode)
            self._outlines[node] = self._plain_schemas.find(entry.place) if is_schema else None
        return self._outlines[node]

    def tag_values(self, node: NodeId) -> frozenset[object] | None:
        """The constants of a node that is seen to have no other values; None for other nodes."""
        return self._sketches.of(node).upper.constants

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

    def settled(self, node: NodeId) -> Value:
        """The value of a node, in shapes that can be written element by element.

        Raises:
            GrammarError: as evaluation does; and where that cannot be done, see `UniqueArrays`.
        """
        known = self._settled.get(node)
        if known is None:
            value = self.evaluate(node)
            if self.outline(node) is not None:
                return value
            try:
                arrays = self._unique_arrays.settled(value.arrays)
                known = value if arrays is value.arrays else replace(value, arrays=arrays)
            except UnsupportedError as error:
                pointer = self._pointer(node)
                raise UnsupportedError(
                    error.reason, pointer=pointer, keyword=error.keyword
                ) from error
            self._settled[node] = known
        return known

    def _pointer(self, node: NodeId) -> str:
        """The pointer of a subschema that a node is made of."""
        match self._nodes[node]:
            case SchemaNode(place):
                return place.pointer
            case Conjunction(members):
                return self._pointer(members[0])
            case Negation(negated):
                return self._pointer(negated)
            case _:
                return ""

    def evaluate(self, node: NodeId) -> Value:
        """The value of a node, its dependencies first; an explicit stack instead of recursion."""
        known = self._values.get(node)
        if known is not None:
            return known
        mine: set[NodeId] = set()
        try:
            self._evaluate(node, mine)
        finally:
            self._open -= mine
        return self._values[node]

    def _evaluate(self, root: NodeId, mine: set[NodeId]) -> None:
        pending: list[tuple[NodeId, Parts | None]] = [(root, None)]
        while pending:
            node, parts = pending.pop()
            if parts is not None:
                self._values[node] = parts.combine([self._values[n] for n in parts.needs])
                self._open.discard(node)
            elif node in mine and node in self._open:
                raise InvalidGrammarError(
                    "the schema refers to itself without an object or array in between",
                    pointer=self.describe(node).removeprefix("(root)"),
                )
            elif node in self._open:
                raise _ReenteredError
            elif node in self._values:
                continue
            elif (plain := self.outline(node)) is not None:
                self._values[node] = self._plain_schemas.value(plain)
            else:
                self._open.add(node)
                mine.add(node)
                parts = self._parts(node)
                pending.append((node, parts))
                pending.extend((needed, None) for needed in reversed(parts.needs))

    def _try_evaluate(self, node: NodeId) -> Value | None:
        """The value of a node, None where it depends on one that is being evaluated.

        This is an evaluation inside another one, so it costs stack: very deep ones are not tried.
        """
        if self._num_nested == _MAX_NESTED:
            return None
        self._num_nested += 1
        try:
            return self.evaluate(node)
        except _ReenteredError:
            return None
        finally:
            self._num_nested -= 1

    def _parts(self, node: NodeId) -> Parts:
        match self._nodes[node]:
            case Conjunction(members):
                return Parts(members, self._conjunction)
            case Negation(negated):
                return Parts((negated,), lambda values: self._algebra.complement(values[0]))
            case ConstantNode(value):
                return Parts((), lambda _: self._constants.only(value))
            case ValueNode(own):
                return Parts((), lambda _: own)
            case SchemaNode(place):
                return Applicators(
                    place,
                    self._document,
                    self,
                    self._algebra,
                    self._constants,
                    self._exclusive,
                    self._limits,
                ).parts()

    def _conjunction(self, values: list[Value]) -> Value:
        total = values[0]
        for value in values[1:]:
            total = self._algebra.intersect(total, value)
        return total

    def _schema_node(self, place: Place) -> NodeId:
        key = leaf_key(place.schema) or (place.pointer, place.scope)
        return self._intern(key, SchemaNode(place))

    def _constant_node(self, value: Json) -> NodeId:
        return self._intern(("constant", exact(value)), ConstantNode(value))

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

    def _why_unsatisfiable(self) -> str:
        node, path = self.root, "the root"
        blocker: tuple[str, NodeId] | None = None
        seen: set[NodeId] = set()
        while node not in seen:
            seen.add(node)
            blocker = unsatisfiable_member(self.settled(node), self, self._productive)
            if blocker is None:
                break
            step, node = blocker
            path += f" requires {step}, which"
        ending = "allows nothing" if blocker is None else "requires it again, without end"
        return f"no JSON value satisfies the schema: {path} {ending}"
