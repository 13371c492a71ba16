"""Applicators: what a schema object is made of, and how its parts combine to its value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from grammars.errors import InvalidGrammarError
from grammars.schema.assertions import SchemaObject
from grammars.schema.unevaluated import Unevaluated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.limits import CompileLimits
    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.constants import Constants
    from grammars.schema.document import Json, Place, SchemaDocument
    from grammars.schema.exclusive import ExclusiveUnion
    from grammars.schema.resources import DynamicScope
    from grammars.schema.value import NodeId, Value


@dataclass(frozen=True, slots=True)
class Parts:
    """What a node's value is made of.

    Args:
        needs: nodes whose values it takes.
        combine: makes the value from theirs, in that order.
    """

    needs: tuple[NodeId, ...]
    combine: Callable[[list[Value]], Value]


class Nodes(Protocol):
    """The graph, as a schema object sees it."""

    anything: NodeId

    def child(self, pointer: str, schema: Json, scope: DynamicScope) -> NodeId:
        """The node of the subschema at `pointer`, reached from a place in a dynamic scope."""
        ...

    def place_node(self, place: Place) -> NodeId:
        """The node of the subschema at a place."""
        ...

    def value_node(self, value: Value) -> NodeId:
        """The node of a value."""
        ...

    def conjoin(self, a: NodeId, b: NodeId) -> NodeId:
        """The node of what is in both."""
        ...

    def negate(self, node: NodeId) -> NodeId:
        """The node of what is not in another."""
        ...


_Combine: TypeAlias = "Callable[[list[Value]], Value]"


class Applicators:
    """Takes one schema object apart: its own assertions, and groups of nodes that all must hold.

    Args:
        place: where the object stands; its schema is a dict.
        document: resolves references.
        nodes: the graph.
        algebra: operations on values.
        constants: values of `const` and `enum`.
        exclusive: unions for `oneOf`.
        limits: compile budgets.
    """

    def __init__(
        self,
        place: Place,
        document: SchemaDocument,
        nodes: Nodes,
        algebra: ValueAlgebra,
        constants: Constants,
        exclusive: ExclusiveUnion,
        limits: CompileLimits,
    ) -> None:
        assert isinstance(place.schema, dict)
        self._place = place
        self._schema = place.schema
        self._document = document
        self._nodes = nodes
        self._algebra = algebra
        self._constants = constants
        self._exclusive = exclusive
        self._object = SchemaObject(
            place, lambda pointer, schema: nodes.child(pointer, schema, place.scope), algebra
        )
        self._limits = limits

    def parts(self) -> Parts:
        """The value of the object as a function of the nodes that it needs.

        Raises:
            GrammarError: a keyword is malformed or not enforced.
        """
        self._object.check_keywords()
        own = self._object.assertions()
        if "const" in self._schema:
            own = self._algebra.intersect(own, self._constants.only(self._schema["const"]))
        if "enum" in self._schema:
            own = self._algebra.intersect(own, self._enumeration())
        groups = list(self._groups())
        needs = tuple(node for members, _ in groups for node in members)

        def combine(values: list[Value]) -> Value:
            value, taken = own, 0
            for members, unite in groups:
                group = unite(values[taken : taken + len(members)])
                value = self._algebra.intersect(value, group)
                taken += len(members)
            return value

        return Parts(needs, combine)

    def _groups(self) -> Iterator[tuple[tuple[NodeId, ...], _Combine]]:
        union = self._algebra.union
        for target in self._document.references(self._place):
            yield (self._nodes.place_node(target),), union
        for member in self._object.branches("allOf") or ():
            yield (member,), union
        any_of = self._object.alternatives("anyOf")
        if any_of is not None:
            yield tuple(any_of), union
        one_of = self._object.alternatives("oneOf")
        if one_of is not None:
            yield tuple(one_of), self._exclusive.of
        if "not" in self._schema:
            yield (self._nodes.negate(self._object.member("not")),), union
        if "if" in self._schema and ("then" in self._schema or "else" in self._schema):
            yield self._conditional(), union
        for trigger, then in self._object.dependencies():
            # Declared, the trigger comes before the keys that it demands.
            declared = self._key(trigger, self._nodes.anything)
            absent = self._key(trigger, self._nodes.negate(self._nodes.anything))
            yield (absent, self._nodes.conjoin(declared, then)), union
        if "propertyNames" in self._schema:
            yield (self._object.member("propertyNames"),), self._property_names
        if "unevaluatedProperties" in self._schema:
            yield (
                self._unevaluated().properties(self._object.member("unevaluatedProperties")),
                union,
            )
        if "unevaluatedItems" in self._schema:
            yield self._unevaluated().items(self._object.member("unevaluatedItems")), union

    def _unevaluated(self) -> Unevaluated:
        return Unevaluated(
            self._place,
            self._document,
            self._nodes,
            self._algebra,
            self._object.keys_matching,
            self._limits,
        )

    def _conditional(self) -> tuple[NodeId, NodeId]:
        condition = self._object.member("if")
        return (
            self._nodes.conjoin(condition, self._object.member("then")),
            self._nodes.conjoin(self._nodes.negate(condition), self._object.member("else")),
        )

    def _key(self, key: str, node: NodeId) -> NodeId:
        """Everything, but in objects the key has values of a node only."""
        shape = replace(self._algebra.shapes.any_object, properties=((key, node),))
        return self._nodes.value_node(replace(self._algebra.everything, objects=(shape,)))

    def _property_names(self, values: list[Value]) -> Value:
        """Objects all of whose keys are among the strings of a value."""
        names = values[0].strings
        if names is not None:  # keys outside of what is generated are left out, not only the wrong
            names = replace(names, widest=None)
        others = self._algebra.scalars.complement_strings(names)
        if others is None:
            return self._algebra.everything
        keys = self._algebra.scalars.content(others)
        nothing = self._nodes.negate(self._nodes.anything)
        shape = self._algebra.shapes.with_patterns(
            self._algebra.shapes.any_object, [(keys, nothing)]
        )
        return replace(self._algebra.everything, objects=(shape,))

    def _enumeration(self) -> Value:
        given = self._schema["enum"]
        if not isinstance(given, list):
            raise InvalidGrammarError(
                "'enum' must be an array", pointer=self._place.pointer, keyword="enum"
            )
        return self._constants.any_of(given)
