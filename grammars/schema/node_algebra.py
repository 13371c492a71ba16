"""NodeAlgebra: the nodes of a graph as operations on shapes see them, never evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from grammars.schema.value import NodeId, Value


class NodeAlgebra(Protocol):
    """Combines nodes by name, and tells what is seen of them at once.

    Attributes:
        anything: the node of all values.
        nothing: the node of no value.
        everything: the value of `anything`.
    """

    anything: NodeId
    nothing: NodeId
    everything: Value

    def conjoin(self, a: NodeId, b: NodeId) -> NodeId:
        """The node of what is in both; `nothing` where they are seen to exclude each other."""
        ...

    def negate(self, node: NodeId) -> NodeId:
        """The node of what is not in another."""
        ...

    def is_surely_inside(self, a: NodeId, b: NodeId) -> bool:
        """Whether a node is seen to be a part of another."""
        ...

    def tag_values(self, node: NodeId) -> frozenset[object] | None:
        """The constants of a node that is seen to have no other values; None for other nodes."""
        ...
