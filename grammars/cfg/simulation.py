"""Simulation: whether one item, or frame, allows no more than another.

Without it the sets of an ambiguous grammar (`s ::= s s | "a"`) would grow with the text, each frame
a little different and all of them the same in what may follow. Simulation is decided as a greatest
fixpoint on the pairs that are met, within a counted budget; it is sound and not complete: "no" only
keeps an item that might have been left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from grammars.cfg.items import END, Item

if TYPE_CHECKING:
    from grammars.cfg.items import FrameId, FrameTable, Items, PositionId, Positions
    from grammars.cfg.rule_nfa import Symbol
    from grammars.work import Work

    Edges: TypeAlias = dict[Symbol, PositionId]

MAX_PAIRS: Final = 64
"""Pairs that one question may lead to."""

MAX_PAIRS_AT_ONCE: Final = 256
"""Pairs looked at for one set of items: at some 10 microseconds a pair, a mask stays in time."""

_WORK_OF_PAIR: Final = 10
"""See `Work`; beside the items."""

_ITEMS_TRIED: Final = 3
"""Items, of those that might cover another one, that are tried in the time of one part of it."""

MAX_KNOWN: Final = 100_000
"""Answers that are kept; at that they are all forgotten."""

MAX_COMPARED: Final = 24
"""Larger sets are not compared: it would cost more than it saves."""


class FramePair(NamedTuple):
    """The question whether `left` has no item that `right` does not cover."""

    left: FrameId
    right: FrameId


class ItemPair(NamedTuple):
    """The question whether `left` allows no more than `right`, ends of their rules included."""

    left: Item
    right: Item


Pair: TypeAlias = FramePair | ItemPair


class Simulation:
    """Answers for one grammar; what is known is kept.

    Args:
        positions: of the items.
        frames: of the items.
        work: counts what is compared.
    """

    def __init__(self, positions: Positions, frames: FrameTable, work: Work) -> None:
        self._positions = positions
        self._frames = frames
        self._work = work
        self._known: dict[Pair, bool] = {}
        self._read_by: dict[FrameId, frozenset[Symbol]] = {}
        self._pairs_left = MAX_PAIRS_AT_ONCE

    def begin(self) -> None:
        """Another set of items is at hand: what was granted for the last one is granted anew."""
        self._pairs_left = MAX_PAIRS_AT_ONCE

    def reduced(self, items: Items) -> Items:
        """The items without those that the others cover; the set must be complete."""
        if not 1 < len(items) <= MAX_COMPARED:
            return items
        edges_of = {item: self._positions.edges(item.position) for item in items if item != END}
        suspects = self._suspects(edges_of)
        if not suspects:
            return items
        self._work.spend(len(suspects) * len(items) // _ITEMS_TRIED)
        kept = set(items)
        for item in sorted(suspects):
            if len(kept) > 1 and self._is_covered(item, edges_of):
                kept.remove(item)
                del edges_of[item]
        return frozenset(kept)

    def _suspects(self, edges_of: dict[Item, Edges]) -> list[Item]:
        """Those whose every symbol another one reads too: none, mostly, without ambiguity."""
        return [
            item
            for item, edges in edges_of.items()
            if all(
                any(symbol in theirs and other is not item for other, theirs in edges_of.items())
                for symbol in edges
            )
        ]

    def is_equal(self, left: FrameId, right: FrameId) -> bool:
        """Whether two frames allow the same; False where that is not found out."""
        return self._is_within(left, right) and self._is_within(right, left)

    def _is_covered(self, item: Item, edges_of: dict[Item, Edges]) -> bool:
        """Whether each way on from an item is one of another one's too, its end among them."""
        frame = item.frame
        return all(
            any(
                symbol in theirs
                and other is not item
                and self._allows(target, frame, theirs[symbol], other.frame)
                for other, theirs in edges_of.items()
            )
            for symbol, target in edges_of[item].items()
        )

    def _allows(
        self, left: PositionId, left_frame: FrameId, right: PositionId, right_frame: FrameId
    ) -> bool:
        """Whether an item allows no more than another one."""
        if left == right:
            return self._is_within(left_frame, right_frame)
        return self._holds(ItemPair(Item(left, left_frame), Item(right, right_frame)))

    def _is_within(self, left: FrameId, right: FrameId) -> bool:
        """Whether a frame allows no more than another one."""
        if left == right:
            return True
        if not self._reads(left) <= self._reads(right):
            return False
        return self._holds(FramePair(left, right))

    def _reads(self, frame: FrameId) -> frozenset[Symbol]:
        """All that the items of a frame read; what others cover reads nothing else."""
        known = self._read_by.get(frame)
        if known is None:
            positions = {item.position for item in self._frames[frame] if item != END}
            found = frozenset().union(*map(self._positions.edges, positions))
            known = self._read_by[frame] = found
        return known

    def _holds(self, goal: Pair) -> bool:
        """Whether a pair holds: assume all pairs met to hold until one of them fails."""
        known = self._known.get(goal)
        if known is not None:
            return known
        if self._pairs_left == 0:
            return False  # which may be found out another time
        failed: set[Pair] = set()
        while goal not in failed:
            assumed = {goal: None}
            pending = [goal]
            for pair in pending:
                if self._pairs_left == 0:
                    return False
                self._pairs_left -= 1
                self._work.spend(_WORK_OF_PAIR)
                if not self._stands(pair, assumed, failed):
                    failed.add(pair)
                    break
                pending.extend(list(assumed)[len(pending) :])
                if len(pending) > MAX_PAIRS:
                    failed.add(goal)
                    break
            else:
                self._known |= dict.fromkeys(assumed, True)
                break
        self._known |= dict.fromkeys(failed, False)
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        return goal not in failed

    def _stands(self, pair: Pair, assumed: dict[Pair, None], failed: set[Pair]) -> bool:
        """Whether a pair holds if the assumed ones do; adds those that it needs."""

        def holds(other: Pair) -> bool:
            if other in assumed:
                return True
            if other in failed:
                return False
            known = self._known.get(other)
            if known is None:
                assumed[other] = None
                return True
            return known

        def is_within(left: FrameId, right: FrameId) -> bool:
            if left == right:
                return True
            return self._reads(left) <= self._reads(right) and holds(FramePair(left, right))

        def allows(
            left: PositionId, left_frame: FrameId, right: PositionId, right_frame: FrameId
        ) -> bool:
            if left == right:
                return is_within(left_frame, right_frame)
            return holds(ItemPair(Item(left, left_frame), Item(right, right_frame)))

        if isinstance(pair, FramePair):
            mine, theirs = self._frames[pair.left], self._frames[pair.right]
            extra = mine - theirs
            self._work.spend(len(extra) * len(theirs) // _ITEMS_TRIED)
            if END in extra or len(extra) > MAX_COMPARED or len(theirs) > MAX_COMPARED:
                return False
            edges_of = {
                item: self._positions.edges(item.position) for item in theirs if item != END
            }
            return all(
                any(
                    symbol in edges and allows(target, item.frame, edges[symbol], other.frame)
                    for other, edges in edges_of.items()
                )
                for item in extra
                for symbol, target in self._positions.edges(item.position).items()
            )
        left, right = pair
        if self._positions.is_final(left.position) and not (
            self._positions.is_final(right.position) and is_within(left.frame, right.frame)
        ):
            return False
        theirs_by_symbol = self._positions.edges(right.position)
        return all(
            (other := theirs_by_symbol.get(symbol)) is not None
            and allows(target, left.frame, other, right.frame)
            for symbol, target in self._positions.edges(left.position).items()
        )
