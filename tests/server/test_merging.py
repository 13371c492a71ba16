"""Several streams as one."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from server.merging import merged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Source:
    """Gives its items, each when it is told to; knows when it was closed."""

    def __init__(self, *items: int | Exception) -> None:
        self.items = items
        self.go = [asyncio.Event() for _ in items]
        self.is_closed = False

    async def stream(self) -> AsyncGenerator[int, None]:
        try:
            for item, go in zip(self.items, self.go, strict=True):
                await go.wait()
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.is_closed = True


async def test_items_come_in_the_order_in_which_they_are_given():
    sources = [Source(1, 2), Source(3), Source()]
    came = []
    order = [(1, 0), (0, 0), (0, 1)]
    sources[1].go[0].set()
    async with aclosing(merged([source.stream() for source in sources])) as stream:
        async for pair in stream:
            came.append(pair)
            for source, item in order[len(came) : len(came) + 1]:
                sources[source].go[item].set()
    assert came == [(1, 3), (0, 1), (0, 2)]
    assert all(source.is_closed for source in sources)


@pytest.mark.parametrize("num_others", [0, 1, 3])
async def test_a_failure_ends_all(num_others):
    failing = Source(1, ValueError("injected"))
    others = [Source(5) for _ in range(num_others)]
    for go in failing.go:
        go.set()
    stream = merged([source.stream() for source in (failing, *others)])
    assert await anext(stream) == (0, 1)
    with pytest.raises(ValueError, match="injected"):
        await anext(stream)
    assert failing.is_closed
    assert all(other.is_closed for other in others)


@pytest.mark.parametrize("num_others", [0, 2])
async def test_closing_it_closes_its_sources(num_others):
    sources = [Source(1, 2), *(Source(5) for _ in range(num_others))]
    sources[0].go[0].set()
    stream = merged([source.stream() for source in sources])
    assert await anext(stream) == (0, 1)
    await stream.aclose()
    assert all(source.is_closed for source in sources)
