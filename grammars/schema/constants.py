"""Constants: the value of `const` and `enum`, by JSON equality."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from grammars.schema.value import ArrayShape, ObjectShape, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grammars.schema.combine import ValueAlgebra
    from grammars.schema.document import Json
    from grammars.schema.value import NodeId


class Constants:
    """Makes values of single JSON values and of lists of them.

    Args:
        algebra: unions and strings.
        node_of: makes the node of a member of a constant array or object.
        nothing: the node of no value at all.
    """

    def __init__(
        self, algebra: ValueAlgebra, node_of: Callable[[Json], NodeId], nothing: NodeId
    ) -> None:
        self._algebra = algebra
        self._node_of = node_of
        self._nothing = nothing

    def any_of(self, given: Sequence[Json]) -> Value:
        """Exactly the listed JSON values; 1 and 1.0 are one number."""
        strings = tuple([item for item in given if isinstance(item, str)])
        if len(strings) == len(given):
            return Value(strings=self._algebra.scalars.strings_among(strings))
        numbers: list[Decimal] = []
        others: list[Json] = []
        for item in given:
            match item:
                case int() | Decimal() if not isinstance(item, bool):
                    numbers.append(Decimal(item))
                case str():
                    pass
                case _:
                    others.append(item)
        scalars = self._algebra.scalars
        found = Value(
            strings=scalars.strings_among(strings) if strings else None,
            numbers=scalars.numbers.among(numbers) if numbers else None,
        )
        return self._algebra.union([found, *map(self.only, others)])

    def only(self, given: Json) -> Value:
        """Exactly one JSON value."""
        match given:
            case None:
                return Value(has_null=True)
            case bool():
                return Value(booleans=frozenset((given,)))
            case int() | Decimal() | str():
                return self.any_of([given])
            case list():
                nodes = tuple(map(self._node_of, given))
                return Value(arrays=(ArrayShape(nodes, self._nothing, len(nodes), len(nodes)),))
            case dict():
                if not all(map(self._algebra.scalars.can_spell, given)):
                    return Value()
                members = tuple((name, self._node_of(member)) for name, member in given.items())
                return Value(objects=(ObjectShape(members, tuple(given), self._nothing),))
