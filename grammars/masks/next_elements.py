"""NextElements: what the next element of an array costs at most if it must differ from the others.

Of so many different elements and one more, each of a bounded cost, the elements before it can be
all but one. So the bound holds whatever was written: the cost of that many short elements.
"""

from __future__ import annotations

import json
from collections import Counter
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from grammars.masks.distinct_point import DistinctFrame, DistinctPoint
from grammars.pushdown.actions import Goto

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from grammars.masks.completion import Completion
    from grammars.masks.configuration import Configuration
    from grammars.masks.distinct_walk import DistinctWalk
    from grammars.masks.reference import PlainConfiguration
    from grammars.pushdown.actions import Action
    from grammars.pushdown.distinct import NextElement

_MAX_TARGETS: Final = 4
"""States behind an element that are looked for, those that cost least."""

_MAX_PLACES: Final = 8192
"""Found on the way to the elements that lead to one of them: tenths of a second at most."""

_MAX_LOOKED: Final = 4096
"""States and places that are looked at for one number, before such searches are given up."""

_MANY: Final = 2**30
"""More bytes than any element has."""

_Part: TypeAlias = "tuple[int, int, int, int, DistinctPoint, bytes]"
"""A text that has begun: its bytes in the end, the negated number of those that are written, when
it was found, the cost of its places so far, the last place, what is written."""


class ElementStates(Protocol):
    """What the structural layer tells."""

    def next_element(self, state: int) -> NextElement | None:
        """The element that a state reads, see `pushdown.distinct`."""
        ...


class NextElements:
    """All methods need `AutomatonTables.lock`, and may raise what the expander raises.

    Args:
        walk: reads texts.
        states: tell which elements must differ.
        configuration: of a place.
        by_bytes: the costs in bytes, by which short elements are found; None: those that are asked.
    """

    def __init__(
        self,
        walk: DistinctWalk,
        states: ElementStates,
        configuration: Callable[[PlainConfiguration], Configuration],
        by_bytes: Completion | None,
    ) -> None:
        self._walk = walk
        self._states = states
        self._configuration = configuration
        self._by_bytes = by_bytes
        self._elements: dict[int, NextElement | None] = {}
        self._ways: dict[tuple[int, int], list[tuple[int, Action]]] = {}
        self._bounds: dict[tuple[object, int], int | None] = {}
        self._running: set[int] = set()

    def element(self, state: int) -> NextElement | None:
        """The element that a fresh state reads and that must differ; None if it does not."""
        if state not in self._elements:
            self._elements[state] = self._states.next_element(state)
        return self._elements[state]

    def ways(
        self, state: int, element: NextElement, num_written: int, costs: Completion
    ) -> list[tuple[int, Action]]:
        """What the element costs at most, and where it leads to.

        Nothing where that is not found in bounded work, and inside of the search for itself.

        Args:
            state: fresh, reads the element.
            element: that of the state.
            num_written: elements at most that open arrays have, for arrays that do not count.
            costs: of the automaton.
        """
        num_earlier = element.num_earlier + (0 if element.is_counted else num_written)
        num_texts = 1 << num_earlier.bit_length()  # one more at least
        known = self._ways.get((state, num_texts))
        if known is not None:
            return known
        if state in self._running:
            return []
        self._running.add(state)
        try:
            found = [*self._find(state, element, num_texts, costs)]
        finally:
            self._running.remove(state)
        if found or not self._running:
            self._ways[state, num_texts] = found
        return found

    def _find(
        self, state: int, element: NextElement, num_texts: int, costs: Completion
    ) -> Iterator[tuple[int, Action]]:
        plain = self._walk.fresh(state)
        ends = costs.ends_of_element(self._configuration(plain))
        nearest = sorted(ends, key=lambda target: (ends[target], target))[:_MAX_TARGETS]
        for target in nearest:
            shared = (element.values, num_texts) if len(nearest) == 1 else None
            if shared in self._bounds:
                bound = self._bounds[shared]
            else:
                start = DistinctPoint(plain, (DistinctFrame(0, has_keys=False),))
                bound = self._bound(start, target, num_texts, costs, is_narrow=True)
                if bound is None:  # equal elements, or dead ones, took the room of others
                    bound = self._bound(start, target, num_texts, costs, is_narrow=False)
                if shared is not None and (bound is not None or len(self._running) == 1):
                    self._bounds[shared] = bound
            if bound is not None:
                yield bound, Goto(target)

    def _bound(
        self,
        start: DistinctPoint,
        target: int,
        num_texts: int,
        costs: Completion,
        *,
        is_narrow: bool,
    ) -> int | None:
        """The cost of that many short elements, or of all; None where they are not found.

        A text may leave the earlier ones anywhere. So what an element costs is the most of all its
        places: a token for each byte to there, and what leads from there to its end.

        Args:
            start: before the element.
            target: the state behind it.
            num_texts: how many are looked for.
            costs: of the automaton.
            is_narrow: whether no more beginnings are kept than twice as many as are needed.
        """
        by_bytes = self._by_bytes or costs
        by_bytes.effort = costs.effort
        queue: list[_Part] = [(0, 0, 0, 0, start, b"")]
        found: dict[str, int] = {}  # its cost
        ends: dict[Configuration, tuple[int, int] | None] = {}
        num_queued, is_cut = 0, False
        while queue and num_queued < _MAX_PLACES and costs.effort.num_looked < _MAX_LOOKED:
            shortest, _, _, most, point, text = heappop(queue)
            if not point.frames[0].is_open:
                found.setdefault(json.dumps(json.loads(text), sort_keys=True), most)
                if len(found) == num_texts:
                    return max(found.values())
                continue
            costs.count_state()
            enough = _worst_of(queue, 2 * (num_texts - len(found))) if is_narrow else _MANY
            needless: set[int | None] = set()
            num_alike: Counter[int | None] = Counter()
            for byte, kind, after in self._following(point, needless):
                longer = text if byte is None else text + bytes((byte,))
                num_tokens = num_bytes = 0
                if after.frames[0].is_open:
                    there = self._configuration(after.plain)
                    if there not in ends:
                        ends[there] = _to_target(there, target, costs, by_bytes)
                    rest = ends[there]
                    if rest is None:
                        continue
                    num_tokens, num_bytes = rest
                elif after.plain.state != target:
                    continue
                length = len(longer)
                goes_on = length + num_bytes == shortest and not num_alike  # one way always does
                if length + num_bytes >= enough and not goes_on:
                    needless.add(kind)
                    is_cut = True
                    continue
                num_alike[kind] += 1
                if num_alike[kind] == num_texts:
                    needless.add(kind)
                    is_cut = True
                num_queued += 1
                cost = max(most, length + num_tokens)
                heappush(queue, (length + num_bytes, -length, num_queued, cost, after, longer))
        return None if queue or is_cut or not found else max(found.values())

    def _following(
        self, point: DistinctPoint, needless: Container[int | None]
    ) -> Iterator[tuple[int | None, int | None, DistinctPoint]]:
        """Where an element may go on or end: a byte, its kind, and the point behind it.

        Kinds that have become needless are left out.
        """
        ended = self._walk.ended(point)
        may_end = ended is not None and not ended.frames[0].is_open
        if ended is not None and may_end:
            yield None, None, ended
        for byte, kind in self._walk.kinds_of_bytes(point):
            if kind in needless or (kind is None and may_end):
                continue  # of no use, or read behind the element
            after = self._walk.read_symbol(point, byte)
            if after is not None and (after.frames[0].is_open or after.plain.is_fresh):
                yield byte, kind, after


def _worst_of(queue: list[_Part], number: int) -> int:
    """The length of the last of the best texts in a queue; _MANY where it has fewer."""
    if len(queue) < number:
        return _MANY
    return sorted(part[0] for part in queue)[number - 1]


def _to_target(
    there: Configuration, target: int, costs: Completion, by_bytes: Completion
) -> tuple[int, int] | None:
    """The tokens and the bytes from a place to a state behind the element, if it is looked for."""
    num_tokens = costs.ends_of_element(there).get(target)
    num_bytes = by_bytes.ends_of_element(there).get(target)
    return None if num_tokens is None or num_bytes is None else (num_tokens, num_bytes)
