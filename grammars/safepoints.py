"""Safepoints: where a thread that compiles can be held up, in loops that would give no occasion.

Who shares a processor with compiles may want to hold them up (`engine/pacing.py`), and asks to be
called by Python's collector, which runs wherever objects are made. Loops that make none call it
themselves.
"""

from __future__ import annotations

import gc
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

_ITEMS: Final = 512
"""Between two safepoints: a millisecond or two."""


def safepoint() -> None:
    """Collect the youngest objects, a few microseconds, which calls `gc.callbacks`."""
    gc.collect(0)


def with_safepoints(items: Iterable[T]) -> Iterator[T]:
    """The items of a long loop, which are looked up some hundreds ahead."""
    rest = iter(items)
    while chunk := list(islice(rest, _ITEMS)):
        yield from chunk
        safepoint()


def growing(items: list[T]) -> Iterator[T]:
    """The items of a list that grows while it is read."""
    for number, item in enumerate(items, 1):
        yield item
        if number % _ITEMS == 0:
            safepoint()


def popped(stack: list[T]) -> Iterator[T]:
    """What is popped from a stack until it is empty; more may be pushed meanwhile."""
    number = 0
    while stack:
        yield stack.pop()
        number += 1
        if number % _ITEMS == 0:
            safepoint()


def popped_keys(keys: dict[T, None]) -> Iterator[T]:
    """The same of an ordered set, which has each item once: the keys of a dict."""
    number = 0
    while keys:
        yield keys.popitem()[0]
        number += 1
        if number % _ITEMS == 0:
            safepoint()
