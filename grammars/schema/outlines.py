"""Outlines: what is known at a glance of the nodes of a schema, looked at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.schema.document import Place
from grammars.schema.plain import PlainSchemas

if TYPE_CHECKING:
    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.node_table import NodeTable
    from grammars.schema.plain import Plain
    from grammars.schema.value import NodeId


class Outlines:
    """The plain schemas among the nodes of a table.

    Args:
        nodes: the table.
        algebra: operations on values whose members are its nodes.
    """

    def __init__(self, nodes: NodeTable, algebra: ValueAlgebra) -> None:
        self._nodes = nodes
        self._plain_schemas = PlainSchemas(nodes, algebra)
        self._known: dict[NodeId, Plain | None] = {}

    def find(self, node: NodeId) -> Plain | None:
        """What a plain schema allows, not evaluated; None for every other node."""
        if node in self._known:
            return self._known[node]
        entry = self._nodes[node]
        found = self._plain_schemas.find(entry) if isinstance(entry, Place) else None
        self._known[node] = found
        return found

    @property
    def found(self) -> list[Plain]:
        """All plain schemas that were looked at."""
        return [plain for plain in self._known.values() if plain is not None]
