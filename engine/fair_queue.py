"""FairQueue: what waits, in an order in which callers take turns."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """First come, first served within a caller; callers take turns, one item each.

    So a caller waits for at most one item of every other one, however many these have sent.
    Which item is next changes only when one is taken, removed or put back.
    """

    def __init__(self) -> None:
        self._put_back: deque[Item] = deque()
        # Callers that have something, the next one first.
        self._turns: OrderedDict[bytes, deque[Item]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._put_back) + sum(map(len, self._turns.values()))

    def __bool__(self) -> bool:
        return bool(self._put_back or self._turns)

    def __iter__(self) -> Iterator[Item]:
        """All items, not in their order."""
        yield from self._put_back
        for items in self._turns.values():
            yield from items

    def add(self, item: Item, caller: bytes) -> None:
        """Put an item behind those of its caller."""
        self._turns.setdefault(caller, deque()).append(item)

    def put_back(self, item: Item) -> None:
        """Put an item that had its turn before all others."""
        self._put_back.appendleft(item)

    def peek(self) -> Item:
        """The item whose turn it is.

        Raises:
            IndexError: the queue is empty.
        """
        if self._put_back:
            return self._put_back[0]
        if not self._turns:
            raise IndexError("the queue is empty")
        return next(iter(self._turns.values()))[0]

    def take(self) -> Item:
        """Take the item whose turn it is; its caller's next one waits for the others' turns.

        Raises:
            IndexError: the queue is empty.
        """
        if self._put_back:
            return self._put_back.popleft()
        if not self._turns:
            raise IndexError("the queue is empty")
        caller, items = self._turns.popitem(last=False)
        item = items.popleft()
        if items:
            self._turns[caller] = items
        return item

    def remove(self, item: Item, caller: bytes) -> None:
        """Take an item out of turn.

        Raises:
            ValueError: it is not in the queue.
        """
        if item in self._put_back:
            self._put_back.remove(item)
            return
        items = self._turns.get(caller, deque())
        items.remove(item)
        if not items:
            del self._turns[caller]
