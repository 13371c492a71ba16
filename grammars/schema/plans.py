"""Plans: an object or array shape as steps from place to place, one per key or element.

A place says how far an object or array has got: what may still be written, and what is still owed.
It is the one description that both the emptiness check and the lowering follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.schema.value import NodeId

_HASH_MODULUS: Final = 2**64 - 59
"""A prime of which 2 has many powers."""


@dataclass(frozen=True, slots=True)
class ObjectPlace:
    """How far an object has got.

    Args:
        index: declared keys before this one are done; where keys come in any order, only a search
            goes through them.
        written: bits of the declared keys that are written, where they come in any order.
        fewest: keys written that surely differ from each other, no further than the minimum.
        most: keys written, where there is a maximum.
        owed: witnesses that have not appeared.
        closed: groups of undeclared keys that may not be written any more: a witness was of the
            group, and a later duplicate of its key would take its place.
        met: groups of undeclared keys of which one has been written, until the minimum is reached.
    """

    index: int = 0
    written: int = 0
    fewest: int = 0
    most: int = 0
    owed: frozenset[int] = frozenset()
    closed: frozenset[int] = frozenset()
    met: frozenset[int] = frozenset()

    def __hash__(self) -> int:
        """Of one bit for each of thousands of keys, Python alone has 61 hashes: 2**61 is as 1."""
        written = self.written % _HASH_MODULUS
        return hash((self.index, written, self.fewest, self.most, self.owed, self.closed, self.met))

    def at(self, index: int) -> ObjectPlace:
        """The same with another index; made for each key of an object."""
        return ObjectPlace(
            index, self.written, self.fewest, self.most, self.owed, self.closed, self.met
        )

    def with_written(self, written: int) -> ObjectPlace:
        """The same with other declared keys written; likewise."""
        return ObjectPlace(
            self.index, written, self.fewest, self.most, self.owed, self.closed, self.met
        )

    def with_owed(self, owed: frozenset[int], closed: frozenset[int]) -> ObjectPlace:
        """The same with other witnesses owed, and groups closed; likewise."""
        return ObjectPlace(self.index, self.written, self.fewest, self.most, owed, closed, self.met)


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """How far an array has got.

    Args:
        index: elements written; beyond what matters it stays.
        counted: for each count of the shape, the elements of its kind, no further than it matters.
    """

    index: int = 0
    counted: tuple[int, ...] = ()


PlaceT = TypeVar("PlaceT", bound=ObjectPlace | ArrayPlace)


@dataclass(frozen=True, slots=True)
class AllBut:
    """All keys but some; the automaton is made only where such a key is really read."""

    declared: frozenset[str]


@dataclass(frozen=True, slots=True)
class Move(Generic[PlaceT]):
    """The smallest step of a search.

    Args:
        node: the value of a key or element; None where a declared key is left out.
        place: the place after it.
    """

    node: NodeId | None
    place: PlaceT


@dataclass(frozen=True, slots=True)
class Step(Generic[PlaceT]):
    """One key or element, and the place after it.

    Args:
        key: the declared key; the language of an undeclared one; None for an element.
        node: its value.
        place: the place after it.
    """

    key: str | CodePointDfa | AllBut | None
    node: NodeId
    place: PlaceT


class Plan(Protocol[PlaceT]):
    """The steps of a shape."""

    @property
    def max_places(self) -> int:
        """Places that a search may visit."""
        ...

    @property
    def start(self) -> PlaceT:
        """The place after the opening bracket."""
        ...

    @property
    def needs_search(self) -> bool:
        """Whether a step can lead to a place from which the shape cannot be closed."""
        ...

    @property
    def has_distinct_texts(self) -> bool:
        """Whether elements must differ (`uniqueItems`), or undeclared keys may be written."""
        ...

    def steps(self, place: PlaceT) -> Iterator[Step[PlaceT]]:
        """What may be written at a place, in generation order, whatever its nodes hold."""
        ...

    def moves(self, place: PlaceT) -> Iterator[Move[PlaceT]]:
        """The same, declared keys left out one by one: few moves, however many keys there are."""
        ...

    def least_moves(self, productive: Container[NodeId]) -> int:
        """Moves that a search from the start surely makes, if all that is needed is productive."""
        ...

    def may_close(self, place: PlaceT) -> bool:
        """Whether nothing is owed."""
        ...

    def live_test(self, productive: Container[NodeId]) -> Callable[[PlaceT], bool]:
        """Tells of places that productive nodes lead to whether the shape can be closed from there.

        Raises:
            LimitExceededError: they cannot be told without looking at too many places.
        """
        ...

    def nodes(self) -> Iterator[NodeId]:
        """The nodes of all steps."""
        ...

    def needed(self) -> Iterator[NodeId]:
        """Nodes without which the shape cannot be closed; all of them unless `needs_search`."""
        ...


def live_places(plan: Plan[PlaceT], productive: Container[NodeId]) -> frozenset[PlaceT]:
    """The places reachable by productive nodes from which the shape can be closed.

    Args:
        plan: the steps.
        productive: nodes that have values, all that are needed among them.

    Raises:
        LimitExceededError: there are too many places; a search that is surely too long is not
            begun.
    """
    check_least_moves(plan, productive)
    comes_from: dict[PlaceT, list[PlaceT]] = {plan.start: []}
    order, num_moves = [plan.start], 0
    for place in order:
        for move in plan.moves(place):
            num_moves = _counted(num_moves, plan)
            if move.node is not None and move.node not in productive:
                continue
            if move.place not in comes_from:
                comes_from[move.place] = []
                order.append(move.place)
            comes_from[move.place].append(place)
    live = [place for place in order if plan.may_close(place)]
    seen = set(live)
    for place in live:
        new = [before for before in comes_from[place] if before not in seen]
        seen.update(new)
        live += new
    return frozenset(seen)


def check_least_moves(plan: Plan[PlaceT], productive: Container[NodeId]) -> None:
    """Refuse a shape in which more must be written than a search may visit.

    Raises:
        LimitExceededError: that is so.
    """
    if plan.least_moves(productive) > plan.max_places:
        raise _too_many_places(plan)


def can_close(plan: Plan[PlaceT], productive: Container[NodeId], start: PlaceT) -> bool:
    """Whether the shape can be closed from a place.

    Looks no further than the first way to the end.

    Raises:
        LimitExceededError: there are too many places.
    """
    seen, pending, num_moves = {start}, [start], 0
    while pending:
        place = pending.pop()
        if plan.may_close(place):
            return True
        for move in plan.moves(place):
            num_moves = _counted(num_moves, plan)
            is_open = move.node is None or move.node in productive
            if is_open and move.place not in seen:
                seen.add(move.place)
                pending.append(move.place)
    return False


def _counted(num_moves: int, plan: Plan[PlaceT]) -> int:
    """One move more of a search."""
    if num_moves == plan.max_places:
        raise _too_many_places(plan)
    return num_moves + 1


def _too_many_places(plan: Plan[PlaceT]) -> LimitExceededError:
    return LimitExceededError("max_places", plan.max_places, "an object or array with counts")
