"""UniqueArrays: shapes with `uniqueItems` in which whoever takes any unseen element is never stuck.

While a text is written, its matcher refuses elements that were seen. That alone never runs into a
dead end if at each place where an element is owed there are more values than elements before it
could have taken away. Shapes that are not so are divided until they are, or refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grammars.errors import LimitExceededError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.limits import CompileLimits
    from grammars.schema.document import Json
    from grammars.schema.samples import ValueSamples
    from grammars.schema.value import ArrayShape, NodeId


class UniqueArrays:
    """Settles shapes of arrays without equal elements.

    Args:
        samples: finds values of nodes.
        conjoin: makes the node of "both of these nodes".
        negate: makes the node of everything but a node.
        constant: makes the node of one value.
        limits: `max_unique_items` elements that must differ, `max_alternatives` shapes.
    """

    def __init__(
        self,
        samples: ValueSamples,
        conjoin: Callable[[NodeId, NodeId], NodeId],
        negate: Callable[[NodeId], NodeId],
        constant: Callable[[Json], NodeId],
        limits: CompileLimits,
    ) -> None:
        self._samples = samples
        self._conjoin = conjoin
        self._negate = negate
        self._constant = constant
        self._limits = limits

    def settled(self, shapes: tuple[ArrayShape, ...]) -> tuple[ArrayShape, ...]:
        """The same arrays in shapes of which each can be written element by element.

        Raises:
            UnsupportedError: elements that must repeat; or conditions beside `uniqueItems` of which
                it is not known whether they can be met.
            LimitExceededError: too many elements must differ, or in too many ways.
        """
        if not any(shape.is_unique or shape.has_repeats for shape in shapes):
            return shapes
        found: dict[ArrayShape, None] = {}
        pending = list(reversed(shapes))
        while pending:
            shape = pending.pop()
            cuts = self._cuts(shape)
            if cuts == [shape]:
                found[shape] = None
            else:
                pending += reversed(cuts)
            self._check_alternatives(len(found) + len(pending))
        return tuple(found)

    def _cuts(self, shape: ArrayShape) -> list[ArrayShape]:
        """The shape alone, if it is settled; else shapes that hold the same arrays."""
        if shape.max_items is not None and shape.max_items < 2:
            return [] if shape.has_repeats else [replace(shape, is_unique=False)]
        if shape.has_repeats:
            raise _refusal("'uniqueItems' that must not hold")
        if not shape.is_unique:
            return [shape]
        if shape.min_items > self._limits.max_unique_items:
            raise LimitExceededError(
                "max_unique_items",
                self._limits.max_unique_items,
                "an array with 'uniqueItems' and 'minItems'",
            )
        if shape.counts:
            return [shape] if self._can_count(shape) else []
        return list(self._divided(shape))

    def _divided(self, shape: ArrayShape) -> Iterator[ArrayShape]:
        """By the values of the first element of whose values the others might leave none."""
        if not shape.prefix:
            if self._has(shape.rest, shape.min_items):
                yield shape
            return
        length = len(shape.prefix)
        if shape.min_items > length and not self._has(shape.rest, shape.min_items):
            self._check_alternatives(shape.min_items)
            rest = (shape.rest,) * (shape.min_items - length)
            yield replace(shape, prefix=(*shape.prefix, *rest))
            return
        for index in range(min(length, shape.min_items)):
            node = shape.prefix[index]
            rivals = [j for j in range(index) if self._meet(shape.prefix[j], node)]
            sample = self._samples.of(node, len(rivals) + 1)
            if len(sample.values) > len(rivals):
                continue
            self._check_known(sample.is_all)
            yield from (self._fixed(shape, index, value) for value in sample.values)
            return
        yield shape

    def _fixed(self, shape: ArrayShape, index: int, value: Json) -> ArrayShape:
        """The arrays of the shape with a given element, which is no other's before it."""
        only = self._constant(value)
        other = self._negate(only)
        before = (self._conjoin(node, other) for node in shape.prefix[:index])
        fixed = self._conjoin(shape.prefix[index], only)
        return replace(shape, prefix=(*before, fixed, *shape.prefix[index + 1 :]))

    def _can_count(self, shape: ArrayShape) -> bool:
        """Whether the elements that are owed can differ; only where that is simple.

        One kind of elements is owed, of all places alike: then neither they nor others can run out
        before they are written. (An element that is of the kind always counts as one.)
        """
        if len(shape.counts) > 1 or shape.prefix or shape.counts[0].first:
            raise _refusal("'uniqueItems' beside 'contains' and a tuple or a second 'contains'")
        count = shape.counts[0]
        kind = self._conjoin(shape.rest, count.node)
        if count.maximum is None:
            return self._has(shape.rest, shape.min_items) and self._has(kind, count.minimum)
        others = self._conjoin(shape.rest, self._negate(count.node))
        if shape.min_items > count.minimum and not self._has(others, shape.min_items):
            raise _refusal("'uniqueItems' beside 'maxContains' where other elements are few")
        return self._has(kind, count.minimum)

    def _has(self, node: NodeId, number: int) -> bool:
        """Whether a node has so many values."""
        if number < 2:
            return True  # whether it has any is found out for all shapes alike
        sample = self._samples.of(node, number)
        if len(sample.values) >= number:
            return True
        self._check_known(sample.is_all)
        return False

    def _meet(self, a: NodeId, b: NodeId) -> bool:
        return self._samples.meet(a, b, self._conjoin(a, b))

    def _check_alternatives(self, given: int) -> None:
        if given > self._limits.max_alternatives:
            raise LimitExceededError(
                "max_alternatives",
                self._limits.max_alternatives,
                "a tuple with 'uniqueItems' of few values",
            )

    @staticmethod
    def _check_known(is_known: bool) -> None:
        if not is_known:
            raise _refusal("'uniqueItems' over elements whose values cannot be counted")


def _refusal(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"{what} is not supported; remove it or see docs/json_schema.md", keyword="uniqueItems"
    )
