"""Evaluated: the members that a schema evaluates, and the cases in which it does.

JSON Schema Core 2020-12, section 11: `unevaluated*` applies to what no applicator beside it has
evaluated, and that depends on which branches hold. A case says: where these branches hold, these
members are evaluated. Nobody needs to say which branches do *not* hold: more branches only evaluate
more members, so a case whose conditions are met is never too generous.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.schema.document import Place
    from grammars.schema.value import NodeId


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Members of an object or elements of an array.

    Args:
        names: keys.
        patterns: keys that match one of these.
        prefix: so many first elements.
        kinds: elements of one of these nodes (`contains`).
        is_all: every member.
    """

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    prefix: int = 0
    kinds: frozenset[NodeId] = frozenset()
    is_all: bool = False

    def __or__(self, other: Evaluated) -> Evaluated:
        return Evaluated(
            self.names | other.names,
            self.patterns | other.patterns,
            max(self.prefix, other.prefix),
            self.kinds | other.kinds,
            is_all=self.is_all or other.is_all,
        )

    def includes(self, other: Evaluated) -> bool:
        """Whether all that the other evaluates is evaluated here."""
        return self.is_all or self | other == self


@dataclass(frozen=True, slots=True)
class Case:
    """What is evaluated where some nodes hold.

    Args:
        conditions: the nodes, in order of appearance.
        members: what is evaluated.
    """

    conditions: tuple[NodeId, ...] = ()
    members: Evaluated = Evaluated()

    def __and__(self, other: Case) -> Case:
        conditions = dict.fromkeys((*self.conditions, *other.conditions))
        return Case(tuple(conditions), self.members | other.members)

    def given(self, node: NodeId) -> Case:
        """The case where a node holds too."""
        return Case((node,)) & self

    def makes_needless(self, other: Case) -> bool:
        """Whether it is met wherever the other is, and evaluates at least as much."""
        return set(self.conditions) <= set(other.conditions) and self.members.includes(
            other.members
        )


def own_properties(place: Place, is_counted: bool) -> Evaluated:
    """What the keywords of a schema object evaluate in an object.

    Args:
        place: where it stands.
        is_counted: whether its `unevaluatedProperties` counts.
    """
    schema = place.schema
    if not isinstance(schema, dict):
        return Evaluated()
    names, patterns = schema.get("properties"), schema.get("patternProperties")
    return Evaluated(
        names=frozenset(names if isinstance(names, dict) else ()),
        patterns=frozenset(patterns if isinstance(patterns, dict) else ()),
        is_all="additionalProperties" in schema
        or (is_counted and "unevaluatedProperties" in schema),
    )


def own_items(
    place: Place, is_counted: bool, contains: Callable[[Place], NodeId | None]
) -> Evaluated:
    """What the keywords of a schema object evaluate in an array.

    Args:
        place: where it stands.
        is_counted: whether its `unevaluatedItems` counts.
        contains: makes the node of its `contains`; None where that evaluates nothing.
    """
    schema = place.schema
    if not isinstance(schema, dict):
        return Evaluated()
    items, prefix = schema.get("items"), schema.get("prefixItems")
    is_tuple = isinstance(items, list)  # of draft-07, followed by additionalItems
    lengths = [len(given) for given in (items, prefix) if isinstance(given, list)]
    kind = contains(place) if "contains" in schema else None
    return Evaluated(
        prefix=max(lengths, default=0),
        kinds=frozenset(() if kind is None else (kind,)),
        is_all=("additionalItems" if is_tuple else "items") in schema
        or (is_counted and "unevaluatedItems" in schema),
    )
