"""NodeValues: the values of nodes, each evaluated once.

Evaluation is iterative: a chain of ten thousand schemas costs no stack.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from grammars.errors import InvalidGrammarError, UnsupportedError
from grammars.schema.applicators import Applicators, Parts
from grammars.schema.constants import Constants
from grammars.schema.document import Place
from grammars.schema.exclusive import ExclusiveUnion
from grammars.schema.nodes import Conjunction, ConstantNode, Negation, ValueNode
from grammars.schema.samples import ValueSamples
from grammars.schema.unique_arrays import UniqueArrays

if TYPE_CHECKING:
    from grammars.limits import CompileLimits
    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.document import SchemaDocument
    from grammars.schema.node_table import NodeTable
    from grammars.schema.outlines import Outlines
    from grammars.schema.samples import Graph
    from grammars.schema.value import NodeId, Value

_MAX_NESTED: Final = 16
"""Evaluations inside each other; beyond it branches of `oneOf` are taken to overlap."""


class _ReenteredError(Exception):
    """An evaluation inside another one came back to a node that is still open."""


class NodeValues:
    """Evaluates the nodes of a table.

    Args:
        nodes: the table.
        algebra: operations on values whose members are its nodes.
        outlines: of its plain schemas.
        document: resolves references.
        graph: finds values of elements that must differ; it holds this object, and is not held.
        limits: compile budgets.
    """

    def __init__(
        self,
        nodes: NodeTable,
        algebra: ValueAlgebra,
        outlines: Outlines,
        document: SchemaDocument,
        graph: Graph,
        limits: CompileLimits,
    ) -> None:
        self._nodes = nodes
        self._outlines = outlines
        self._document = document
        self._limits = limits
        self._algebra = algebra
        self._values: dict[NodeId, Value] = {}
        self._settled: dict[NodeId, Value] = {}
        self._open: set[NodeId] = set()
        self._cyclic: set[NodeId] = set()
        self._num_nested = 0
        self._graph: Graph = weakref.proxy(graph)

    @cached_property
    def _constants(self) -> Constants:
        return Constants(self._algebra, self._nodes.constant_node, self._nodes.nothing)

    @cached_property
    def _unique_arrays(self) -> UniqueArrays:
        nodes, samples = self._nodes, ValueSamples(self._graph, self._limits)
        return UniqueArrays(samples, nodes.conjoin, nodes.negate, nodes.constant_node, self._limits)

    @property
    def all_settled(self) -> dict[NodeId, Value]:
        """What is settled so far, plain schemas left out."""
        return self._settled

    def settled(self, node: NodeId) -> Value:
        """The value of a node, in shapes that can be written element by element.

        Raises:
            GrammarError: as evaluation does; and where that cannot be done, see `UniqueArrays`.
        """
        known = self._settled.get(node)
        if known is None:
            value = self.evaluate(node)
            if self._outlines.find(node) is not None:
                return value
            try:
                arrays = self._unique_arrays.settled(value.arrays)
                known = value if arrays is value.arrays else replace(value, arrays=arrays)
            except UnsupportedError as error:
                pointer = self._nodes.pointer(node)
                raise UnsupportedError(
                    error.reason, pointer=pointer, keyword=error.keyword
                ) from error
            self._settled[node] = known
        return known

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
                way = [above for above, its_parts in pending if its_parts is not None]
                self._note_cycle(way[way.index(node) :])
                self._open -= mine
                mine.clear()
                pending = [(root, None)]
            elif node in self._open:
                raise _ReenteredError
            elif node in self._values:
                continue
            elif (plain := self._outlines.find(node)) is not None:
                self._values[node] = plain.whole_value()
            else:
                self._open.add(node)
                mine.add(node)
                parts = self._parts(node)
                pending.append((node, parts))
                pending.extend((needed, None) for needed in reversed(parts.needs))

    def _note_cycle(self, nodes: list[NodeId]) -> None:
        """Unions that contain each other are the union of what else is in them, a least fixpoint.

        Raises:
            InvalidGrammarError: something else than `anyOf` is on the way around.
        """
        if any(self._nodes.union_branches(node) is None for node in nodes):
            raise InvalidGrammarError(
                "the schema refers to itself without an object or array in between",
                pointer=self._nodes.describe(nodes[0]).removeprefix("(root)"),
            )
        self._cyclic.update(nodes)

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
        if node in self._cyclic:
            return Parts(self._branches_below(node), self._algebra.union)
        match self._nodes[node]:
            case Conjunction(members):
                return Parts(members, self._conjunction)
            case Negation(negated):
                return Parts((negated,), lambda values: self._algebra.complement(values[0]))
            case ConstantNode(value):
                return Parts((), lambda _: self._constants.only(value))
            case ValueNode(own):
                return Parts((), lambda _: own)
            case Place() as place:
                return Applicators(
                    place,
                    self._document,
                    self._nodes,
                    self._algebra,
                    self._constants,
                    ExclusiveUnion(self._algebra, self._nodes, self._try_evaluate),
                    self._limits,
                ).parts()

    def _conjunction(self, values: list[Value]) -> Value:
        total = values[0]
        for value in values[1:]:
            total = self._algebra.intersect(total, value)
        return total

    def _branches_below(self, node: NodeId) -> tuple[NodeId, ...]:
        """What unions inside unions are made of in the end, in order of appearance."""
        found: dict[NodeId, None] = {}
        seen: set[NodeId] = set()
        pending = [node]
        while pending:
            current = pending.pop()
            if current not in seen:
                seen.add(current)
                branches = self._nodes.union_branches(current)
                if branches is None:
                    found[current] = None
                else:
                    pending += reversed(branches)
        return tuple(found)
