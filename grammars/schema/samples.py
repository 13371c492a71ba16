"""ValueSamples: distinct values of a node, as many as are asked for.

Where elements must differ, an array of n elements needs n values; here it is found out whether
there are so many, and which ones if there are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from grammars.automata.shortest_strings import shortest_strings
from grammars.schema.key_groups import undeclared_keys
from grammars.schema.leaves import exact
from grammars.schema.plans import AllBut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa
    from grammars.limits import CompileLimits
    from grammars.schema.array_plan import ArrayPlan
    from grammars.schema.document import Json
    from grammars.schema.object_plan import ObjectPlan
    from grammars.schema.plans import ArrayPlace, ObjectPlace
    from grammars.schema.value import ArrayShape, NodeId, ObjectShape, StringSet, Value

_MAX_DEPTH = 6
"""Objects and arrays inside each other that are looked at."""

_MAX_MEMBERS = 64
"""Members of one object, elements of one array."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Distinct values.

    Args:
        values: some of them.
        is_all: whether there are no others.
    """

    values: tuple[Json, ...]
    is_all: bool


class Graph(Protocol):
    """The graph, as values are read from it."""

    def evaluate(self, node: NodeId) -> Value:
        """The value of a node."""
        ...

    def object_plan(self, shape: ObjectShape) -> ObjectPlan:
        """The steps of an object shape."""
        ...

    def array_plan(self, shape: ArrayShape) -> ArrayPlan:
        """The steps of an array shape."""
        ...

    def plain_numbers(self, numbers: Dfa) -> Dfa:
        """The one spelling of each number of a set."""
        ...

    def string_content(self, strings: StringSet) -> CodePointDfa:
        """The strings of a set."""
        ...


class ValueSamples:
    """Finds distinct values of nodes.

    Args:
        graph: where the nodes are.
        limits: a tenth of `max_places` bounds the steps of one search.
    """

    def __init__(self, graph: Graph, limits: CompileLimits) -> None:
        self._graph = graph
        self._limits = limits
        self._known: dict[tuple[NodeId, int], Sample] = {}

    def of(self, node: NodeId, most: int) -> Sample:
        """Up to `most` values of a node.

        Fewer than that, and not said to be all, means that nothing is known about others.
        """
        known = self._known.get((node, most))
        if known is None:
            known = self._known[node, most] = _Search(self._graph, self._limits, most).sample(node)
        return known

    def meet(self, a: NodeId, b: NodeId, both: NodeId) -> bool:
        """Whether two nodes have a value in common, as far as is known; `both` is their meet."""
        return a == b or bool(self.of(both, 1).values) or not self.of(both, 1).is_all


class _Search:
    """One search; `_is_cut` is set where it does not look at everything."""

    def __init__(self, graph: Graph, limits: CompileLimits, most: int) -> None:
        self._graph = graph
        self._max_states = limits.max_states
        self._num_left = limits.max_places // 10 + 4 * most
        self._most = most
        self._num_strings = most + _MAX_MEMBERS  # so many may be taken by other members
        self._is_cut = False

    def sample(self, node: NodeId) -> Sample:
        found: dict[object, Json] = {}
        for value in self._values(node, _MAX_DEPTH):
            found.setdefault(exact(value), value)
            if len(found) == self._most:
                return Sample(tuple(found.values()), is_all=False)
        return Sample(tuple(found.values()), is_all=not self._is_cut)

    def _values(self, node: NodeId, depth: int) -> Iterator[Json]:
        value = self._graph.evaluate(node)
        if value.has_null:
            yield None
        yield from value.booleans
        if value.strings is not None:
            yield from shortest_strings(
                self._graph.string_content(value.strings), self._num_strings
            )
        if value.numbers is not None:
            for spelling in _spellings(self._graph.plain_numbers(value.numbers)):
                number = Decimal(spelling)
                yield int(number) if "." not in spelling else number
        if (value.objects or value.arrays) and depth == 0:
            self._is_cut = True
            return
        for shape in value.objects:
            plan = self._graph.object_plan(shape)
            yield from self._objects(plan, plan.start, {}, depth - 1)
        for array in value.arrays:
            if array.has_repeats:
                self._is_cut = True
                continue
            steps = self._graph.array_plan(array)
            is_unique = array.is_unique
            yield from self._arrays(steps, steps.start, [], depth - 1, is_unique=is_unique)

    def _objects(
        self, plan: ObjectPlan, place: ObjectPlace, members: dict[str, Json], depth: int
    ) -> Iterator[Json]:
        if self._may_go_on(len(members)):
            if plan.may_close(place):
                yield members
            for step in plan.steps(place):
                assert step.key is not None
                for key in self._keys(step.key):
                    if key not in members:
                        for value in self._values(step.node, depth):
                            if self._num_left < 0:
                                return
                            yield from self._objects(
                                plan, step.place, {**members, key: value}, depth
                            )

    def _arrays(
        self,
        plan: ArrayPlan,
        place: ArrayPlace,
        elements: list[Json],
        depth: int,
        *,
        is_unique: bool,
    ) -> Iterator[Json]:
        if self._may_go_on(len(elements)):
            if plan.may_close(place):
                yield elements
            taken = {exact(element) for element in elements} if is_unique else set()
            for step in plan.steps(place):
                for value in self._values(step.node, depth):
                    if self._num_left < 0:
                        return
                    if exact(value) not in taken:
                        longer = [*elements, value]
                        yield from self._arrays(
                            plan, step.place, longer, depth, is_unique=is_unique
                        )

    def _keys(self, key: str | CodePointDfa | AllBut) -> Iterator[str]:
        if isinstance(key, str):
            yield key
            return
        if isinstance(key, AllBut):
            key = undeclared_keys(key.declared, self._max_states)
        yield from shortest_strings(key, self._num_strings)

    def _may_go_on(self, num_members: int) -> bool:
        self._num_left -= 1
        if self._num_left < 0 or num_members > _MAX_MEMBERS:
            self._is_cut = True
            return False
        return True


def _spellings(numbers: Dfa) -> Iterator[str]:
    """The texts of an automaton over ASCII, the shortest first."""
    level = [(numbers.start, "")] if not numbers.is_empty else []
    symbols = [byte for byte in b"-.0123456789" if numbers.symbol_class[byte]]
    while level:
        following: list[tuple[int, str]] = []
        for state, text in level:
            if numbers.label[state]:
                yield text
            for byte in symbols:
                target = numbers.step(state, byte)
                if target:
                    following.append((target, text + chr(byte)))
        level = following
