"""The nodes of a graph: a subschema, a constant, a value, or a combination of other nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from grammars.schema.document import Json, Place
    from grammars.schema.value import NodeId, Value


@dataclass(frozen=True, slots=True)
class ConstantNode:
    """One JSON value."""

    value: Json


@dataclass(frozen=True, slots=True)
class ValueNode:
    """A value that is known already."""

    value: Value


@dataclass(frozen=True, slots=True)
class Conjunction:
    """What is in all of some nodes.

    Args:
        members: none of them a conjunction; in order of appearance, which is the order of keys.
    """

    members: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """What is not in a node."""

    node: NodeId


Node: TypeAlias = "Place | ConstantNode | ValueNode | Conjunction | Negation"
"""A place is the node of what the subschema there allows."""


def members_of(node: NodeId, entry: Node) -> tuple[NodeId, ...]:
    """The nodes whose conjunction a node is: itself, if it is none."""
    return entry.members if isinstance(entry, Conjunction) else (node,)
