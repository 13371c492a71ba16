"""Python's collector in a serving process: full collections wait until nobody waits for them."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from server.collector import (
    DUE_AT_LAST,
    DUE_WHEN_IDLE,
    collect_if_due,
    collected_when_idle,
)


class Circle:
    """An object that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


def old_circle() -> weakref.ref[Circle]:
    """One that has survived young collections, and so is left to those of everything."""
    circle = Circle()
    gc.collect()
    return weakref.ref(circle)


def note_young_collections(count: int) -> None:
    for _ in range(count):
        gc.collect(1)


@pytest.mark.parametrize(
    ("count", "is_idle", "is_collected"),
    [
        (DUE_WHEN_IDLE - 1, True, False),
        (DUE_WHEN_IDLE, True, True),
        (DUE_WHEN_IDLE, False, False),
        (DUE_AT_LAST - 1, False, False),
        (DUE_AT_LAST, False, True),
    ],
)
def test_everything_is_collected_when_nobody_waits_or_when_it_is_overdue(
    count, is_idle, is_collected
):
    gc.disable()  # no young collection of its own is counted
    try:
        circle = old_circle()
        note_young_collections(count)
        assert collect_if_due(is_idle=is_idle) is is_collected
        assert (circle() is None) is is_collected
    finally:
        gc.enable()


async def test_a_circle_of_an_earlier_request_is_freed_while_nobody_waits():
    waits = True
    async with collected_when_idle(lambda: not waits, period_s=0):
        circle = old_circle()
        note_young_collections(DUE_WHEN_IDLE)
        for _ in range(10):
            await asyncio.sleep(0)
        assert circle() is not None
        waits = False
        for _ in range(10):
            await asyncio.sleep(0)
        assert circle() is None


async def test_no_full_collection_comes_by_itself_and_afterwards_all_is_as_it_was():
    before = gc.get_threshold()
    with pytest.raises(RuntimeError):
        await fail_while_serving()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


async def fail_while_serving() -> None:
    async with collected_when_idle(lambda: True):
        frozen, young = gc.get_freeze_count(), gc.get_threshold()
        async with collected_when_idle(lambda: True):  # two servers in one process
            assert gc.get_threshold() == young
        assert frozen > 0
        assert gc.get_threshold() == young
        assert young[2] > 10**9
        raise RuntimeError
