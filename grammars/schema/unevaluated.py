"""Unevaluated: the nodes of `unevaluatedProperties` and `unevaluatedItems`.

Each is a union with one node for each `Case`: where the case's conditions hold, what
it leaves is of the given schema.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Protocol

from grammars.schema.evaluated import Evaluated, own_items, own_properties
from grammars.schema.evaluation import EvaluationCases
from grammars.schema.value import ArrayShape, ObjectShape, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.limits import CompileLimits
    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.document import Place, SchemaDocument
    from grammars.schema.value import NodeId


class Nodes(Protocol):
    """The graph, as this module needs it."""

    anything: NodeId

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


class Unevaluated:
    """Makes the nodes of `unevaluated*` of one schema object.

    Args:
        place: where the object stands.
        document: resolves references.
        nodes: the graph.
        algebra: operations on values.
        keys_matching: makes the language of a pattern of keys.
        limits: budgets of cases.
    """

    def __init__(
        self,
        place: Place,
        document: SchemaDocument,
        nodes: Nodes,
        algebra: ValueAlgebra,
        keys_matching: Callable[[str], CodePointDfa],
        limits: CompileLimits,
    ) -> None:
        self._place = place
        self._document = document
        self._nodes = nodes
        self._algebra = algebra
        self._keys_matching = keys_matching
        self._limits = limits

    def properties(self, rest: NodeId) -> tuple[NodeId, ...]:
        """Nodes whose union is what `unevaluatedProperties` allows.

        Args:
                rest: what an unevaluated property has to be.

        Raises:
            LimitExceededError: it depends on too many branches.
        """
        return self._union(own_properties, partial(self._objects, rest))

    def items(self, rest: NodeId) -> tuple[NodeId, ...]:
        """Nodes whose union is what `unevaluatedItems` allows; as `properties`."""
        return self._union(partial(own_items, contains=self._contains), partial(self._arrays, rest))

    def _union(
        self,
        own: Callable[[Place, bool], Evaluated],
        restricted: Callable[[Evaluated], NodeId],
    ) -> tuple[NodeId, ...]:
        cases = EvaluationCases(self._document, self._nodes, self._with_key, own, self._limits)
        return tuple(
            reduce(self._nodes.conjoin, case.conditions, restricted(case.members))
            for case in cases.of(self._place)
        )

    def _objects(self, rest: NodeId, evaluated: Evaluated) -> NodeId:
        anything = self._nodes.anything
        if evaluated.is_all:
            return anything
        shape = ObjectShape(tuple((name, anything) for name in sorted(evaluated.names)), (), rest)
        patterns = map(self._keys_matching, sorted(evaluated.patterns))
        shape = self._algebra.shapes.with_patterns(shape, [(keys, anything) for keys in patterns])
        return self._nodes.value_node(replace(self._algebra.everything, objects=(shape,)))

    def _arrays(self, rest: NodeId, evaluated: Evaluated) -> NodeId:
        anything = self._nodes.anything
        if evaluated.is_all:
            return anything
        for kind in sorted(evaluated.kinds):
            rest = self._either(rest, kind)
        shape = ArrayShape((anything,) * evaluated.prefix, rest)
        return self._nodes.value_node(replace(self._algebra.everything, arrays=(shape,)))

    def _either(self, a: NodeId, b: NodeId) -> NodeId:
        negate = self._nodes.negate
        return negate(self._nodes.conjoin(negate(a), negate(b)))

    def _with_key(self, key: str) -> NodeId:
        """Objects with a key."""
        shape = replace(self._algebra.shapes.any_object, required=(key,))
        return self._nodes.value_node(Value(objects=(shape,)))

    def _contains(self, place: Place) -> NodeId | None:
        assert isinstance(place.schema, dict)
        if not self._document.dialect_at(place.pointer).contains_evaluates:
            return None
        below = self._document.place(
            f"{place.pointer}/contains", place.schema["contains"], place.scope
        )
        return self._nodes.place_node(below)
