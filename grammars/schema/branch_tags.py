"""BranchTags: which branches of a `oneOf` can overlap at all, by the constants of one key."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.schema.node_algebra import NodeAlgebra
    from grammars.schema.value import ObjectShape, Value


class BranchTags:
    """Splits branches by a tag: a key that each of them requires, with constants for values.

    Three hundred tools told apart by their names are then compared with nothing, and not in
    forty-five thousand pairs.

    Args:
        nodes: what is seen of members.
    """

    def __init__(self, nodes: NodeAlgebra) -> None:
        self._nodes = nodes

    def pairs(self, branches: list[Value]) -> list[tuple[int, int]]:
        """Pairs of places in a list of branches, ascending, that the tag does not tell apart."""
        tags = [self._tags(branch) for branch in branches]
        common = Counter(key for found in tags for key in found).most_common(1)
        if not common:
            return list(combinations(range(len(branches)), 2))
        key = common[0][0]
        untagged = [i for i, found in enumerate(tags) if key not in found]
        by_value: dict[object, list[int]] = {}
        for i, found in enumerate(tags):
            for value in found.get(key, ()):
                by_value.setdefault(value, []).append(i)
        pairs = {tuple(sorted(pair)) for pair in product(untagged, range(len(branches)))}
        pairs.update(pair for group in by_value.values() for pair in combinations(group, 2))
        return sorted((i, j) for i, j in pairs if i != j)

    def _tags(self, branch: Value) -> dict[str, frozenset[object]]:
        """The tags of a branch: of each, the constants of all of its shapes."""
        if branch.arrays or not branch.objects:
            return {}
        found = [dict(self._tags_of_shape(shape)) for shape in branch.objects]
        return {
            key: frozenset[object]().union(*(tags[key] for tags in found))
            for key in found[0]
            if all(key in tags for tags in found)
        }

    def _tags_of_shape(self, shape: ObjectShape) -> Iterator[tuple[str, frozenset[object]]]:
        for key in shape.required:
            values = self._nodes.tag_values(shape.member(key))
            if values is not None:
                yield key, values
