"""NodeSketches: the sketches of the nodes of a graph, each made once."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from grammars.schema.document import Place
from grammars.schema.nodes import (
    Conjunction,
    ConstantNode,
    Negation,
    Node,
    ValueNode,
    members_of,
)
from grammars.schema.place_sketch import PlaceSketches
from grammars.schema.sketch import sketch_of_constants, sketch_of_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammars.schema.document import SchemaDocument
    from grammars.schema.sketch import Sketch
    from grammars.schema.value import NodeId, Value


class NodeSketches:
    """What is seen of nodes and of pairs of them; nothing is evaluated.

    Args:
        nodes: the nodes by id; may grow.
        document: of the subschemas.
        everything: the value that all JSON values are in.
    """

    def __init__(self, nodes: Sequence[Node], document: SchemaDocument, everything: Value) -> None:
        self._nodes = nodes
        self._places = PlaceSketches(document)
        self._everything = everything
        self._sketches: dict[NodeId, Sketch] = {}
        self._meets: dict[NodeId, tuple[NodeId, NodeId]] = {}
        self._inside: dict[tuple[NodeId, NodeId], bool] = {}

    def of(self, node: NodeId) -> Sketch:
        """The sketch of a node."""
        known = self._sketches.get(node)
        if known is None:
            meet = self._meets.get(node)
            known = self._make(self._nodes[node]) if meet is None else self._of_meet(*meet)
            self._sketches[node] = known
        return known

    def note_meet(self, both: NodeId, a: NodeId, b: NodeId) -> None:
        """Note that a conjunction is that of two nodes, whose sketches are known."""
        self._meets[both] = (a, b)

    def _of_meet(self, a: NodeId, b: NodeId) -> Sketch:
        return self._sketches[a] & self._sketches[b]

    def is_inside(self, a: NodeId, b: NodeId) -> bool:
        """Whether a node is seen to be a part of another, by its members or by its sketch."""
        known = self._inside.get((a, b))
        if known is None:
            members = set(members_of(a, self._nodes[a]))
            known = members.issuperset(members_of(b, self._nodes[b])) or self.of(a).is_inside(
                self.of(b)
            )
            self._inside[a, b] = known
        return known

    def _make(self, node: Node) -> Sketch:
        match node:
            case Place():
                return self._places.of(node)
            case ConstantNode(constant):
                return sketch_of_constants([constant])
            case ValueNode(value):
                return sketch_of_value(value, self._everything)
            case Conjunction(members):
                return reduce(and_, map(self.of, members))
            case Negation(negated):
                return ~self.of(negated)
