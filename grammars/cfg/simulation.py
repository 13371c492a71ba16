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
    from collections.abc import Container

    from grammars.cfg.items import FrameId, FrameTable, Items, Positions
    from grammars.cfg.rule_nfa import Symbol

MAX_PAIRS: Final = 64
"""Pairs that one question may lead to."""

MAX_PAIRS_AT_ONCE: Final = 256
"""Pairs looked at for one set of items: at some 20 microseconds a pair, a mask stays in time."""

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
    """Answers for one grammar; what is known is kept."""

    def __init__(self, positions: Positions, frames: FrameTable) -> None:
        self._positions = positions
        self._frames = frames
        self._known: dict[Pair, bool] = {}
        self._pairs_left = MAX_PAIRS_AT_ONCE

    def begin(self) -> None:
        """Another set of items is at hand: what was granted for the last one is granted anew."""
        self._pairs_left = MAX_PAIRS_AT_ONCE

    def reduced(self, items: Items) -> Items:
        """The items without those that the others cover; the set must be complete."""
        if not 1 < len(items) <= MAX_COMPARED:
            return items
        suspects = self._suspects(items)
        if not suspects:
            return items
        readers = self._readers(items)
        kept = dict.fromkeys(items)
        for item in sorted(suspects):
            if len(kept) > 1 and self._is_covered(item, kept, readers):
                del kept[item]
        return frozenset(kept)

    def _suspects(self, items: Items) -> list[Item]:
        """Those whose every symbol another one reads too: none, mostly, without ambiguity."""
        read_by: dict[Symbol, int] = {}
        edges_of = {item: self._positions.edges(item.position) for item in items if item != END}
        for edges in edges_of.values():
            for symbol in edges:
                read_by[symbol] = read_by.get(symbol, 0) + 1
        return [
            item for item, edges in edges_of.items() if all(read_by[symbol] > 1 for symbol in edges)
        ]

    def _readers(self, items: Items) -> dict[Symbol, list[tuple[Item, Item]]]:
        """The items that read a symbol, each with the item after it."""
        readers: dict[Symbol, list[tuple[Item, Item]]] = {}
        for item in items:
            if item != END:
                for symbol, target in self._positions.edges(item.position).items():
                    readers.setdefault(symbol, []).append((item, Item(target, item.frame)))
        return readers

    def is_equal(self, left: FrameId, right: FrameId) -> bool:
        """Whether two frames allow the same; False where that is not found out."""
        return self._holds(FramePair(left, right)) and self._holds(FramePair(right, left))

    def _is_covered(
        self, item: Item, kept: Container[Item], readers: dict[Symbol, list[tuple[Item, Item]]]
    ) -> bool:
        """Whether each way on from an item is one of another kept one's too, its end among them."""
        return all(
            any(
                other != item
                and other in kept
                and self._holds(ItemPair(Item(target, item.frame), after))
                for other, after in readers[symbol]
            )
            for symbol, target in self._positions.edges(item.position).items()
        )

    def _holds(self, goal: Pair) -> bool:
        """Whether a pair holds: assume all pairs met to hold until one of them fails."""
        if goal.left == goal.right:
            return True
        known = self._known.get(goal)
        if known is not None:
            return known
        failed: set[Pair] = set()
        while goal not in failed:
            assumed = {goal: None}
            pending = [goal]
            for pair in pending:
                if self._pairs_left == 0:
                    return False  # which may be found out another time
                self._pairs_left -= 1
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
            if other.left == other.right or other in assumed:
                return True
            if other in failed:
                return False
            known = self._known.get(other)
            if known is None:
                assumed[other] = None
                return True
            return known

        if isinstance(pair, FramePair):
            mine, theirs = self._frames[pair.left], self._frames[pair.right]
            extra = mine - theirs
            if END in extra or len(extra) > MAX_COMPARED or len(theirs) > MAX_COMPARED:
                return False
            readers = self._readers(theirs)
            return all(
                any(
                    holds(ItemPair(Item(target, item.frame), after))
                    for _, after in readers.get(symbol, ())
                )
                for item in extra
                for symbol, target in self._positions.edges(item.position).items()
            )
        left, right = pair
        if left.position == right.position:
            return holds(FramePair(left.frame, right.frame))
        if self._positions.is_final(left.position) and not (
            self._positions.is_final(right.position) and holds(FramePair(left.frame, right.frame))
        ):
            return False
        theirs_by_symbol = self._positions.edges(right.position)
        return all(
            (other := theirs_by_symbol.get(symbol)) is not None
            and holds(ItemPair(Item(target, left.frame), Item(other, right.frame)))
            for symbol, target in self._positions.edges(left.position).items()
        )
