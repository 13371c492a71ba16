"""BranchIndex: which branches of a `oneOf` may have something in common with a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammars.schema.node_algebra import NodeAlgebra
    from grammars.schema.value import Value


class BranchIndex:
    """Finds branches by the keys that may stand in their objects, and by the constants of these.

    An object of two shapes has every key that either requires. So a shape that requires a key has
    nothing in common with those in which the key may not stand, nor, where the key is a *tag* (all
    of its values are constants), with those in which it has other constants. A thousand tools told
    apart by their names, or objects told apart by a key that each requires and no other may have,
    are then compared with nothing, and not in half a million pairs.

    Args:
        branches: numbered in this order.
        nodes: what is seen of members.
    """

    def __init__(self, branches: Sequence[Value], nodes: NodeAlgebra) -> None:
        self._nodes = nodes
        self._shapes = [shape for branch in branches for shape in branch.objects]
        self._branch_of = [i for i, branch in enumerate(branches) for _ in branch.objects]
        self._with_arrays = frozenset(i for i, branch in enumerate(branches) if branch.arrays)
        self._open: list[int] = []  # shapes that may have keys which they do not declare
        self._declaring: dict[str, list[int]] = {}
        self._columns: dict[str, _Column] = {}  # made for the keys that are asked for
        for number, shape in enumerate(self._shapes):
            if shape.additional != nodes.nothing or shape.classes:
                self._open.append(number)
            for key in shape.declared:
                self._declaring.setdefault(key, []).append(number)

    def near(self, value: Value) -> frozenset[int]:
        """Branches; all others surely have no object and no array in common with the value."""
        found = self._with_arrays if value.arrays else frozenset[int]()
        everyone = range(len(self._shapes))
        for shape in value.objects:
            ways = (
                self._column(key).near(self._nodes.tag_values(shape.member(key)))
                for key in shape.required
            )
            near = min(ways, key=len, default=everyone)
            found = found.union(map(self._branch_of.__getitem__, near))
        return found

    def _column(self, key: str) -> _Column:
        known = self._columns.get(key)
        if known is None:
            known = self._columns[key] = _Column()
            for number in self._declaring.get(key, ()):
                known.add(number, self._nodes.tag_values(self._shapes[number].declared[key]))
            for number in self._open:
                if key not in self._shapes[number].declared:
                    known.add(number, None)
        return known


class _Column:
    """The shapes in which one key may stand."""

    def __init__(self) -> None:
        self._all: list[int] = []
        self._untagged: list[int] = []
        self._by_tag: dict[object, list[int]] = {}

    def add(self, number: int, tags: frozenset[object] | None) -> None:
        """Add a shape, and the constants that the key has in it: None where it has other values."""
        self._all.append(number)
        if tags is None:
            self._untagged.append(number)
        for tag in tags or ():
            self._by_tag.setdefault(tag, []).append(number)

    def near(self, tags: frozenset[object] | None) -> list[int]:
        """The shapes in which the key may have one of these constants: any value for None."""
        if tags is None:
            return self._all
        tagged = (number for tag in tags for number in self._by_tag.get(tag, _NONE))
        return [*self._untagged, *tagged]


_NONE: Final[tuple[int, ...]] = ()
