"""Turns: so many at a time, callers one after the other, and whoever goes away leaves no hole."""

from __future__ import annotations

import asyncio

from server.turns import Turns


class Queue:
    """Tasks that want a turn; each holds its place until it is told to end."""

    def __init__(self, num_places):
        self.turns, self.served, self.ends = Turns(num_places), [], {}

    async def enter(self, name):
        """A task for the caller of the name's first letter; it waits or has its turn by now."""
        self.ends[name] = asyncio.Event()

        async def task():
            async with self.turns.turn(name[:1].encode()):
                self.served.append(name)
                await self.ends[name].wait()

        entered = asyncio.create_task(task())
        await asyncio.sleep(0)
        return entered

    async def end(self, name):
        self.ends[name].set()
        for _ in range(3):
            await asyncio.sleep(0)


async def test_a_flood_of_one_caller_keeps_another_waiting_for_one_turn():
    queue = Queue(1)
    tasks = [await queue.enter(name) for name in ("a1", "a2", "a3", "b1")]
    assert queue.served == ["a1"]
    for name in ("a1", "a2", "b1", "a3"):
        await queue.end(name)
    assert queue.served == ["a1", "a2", "b1", "a3"]
    await asyncio.gather(*tasks)


async def test_no_more_than_so_many_have_their_turn():
    queue = Queue(2)
    tasks = [await queue.enter(name) for name in ("a1", "b1", "c1")]
    assert queue.served == ["a1", "b1"]
    await queue.end("b1")
    assert queue.served == ["a1", "b1", "c1"]
    for name in ("a1", "c1"):
        await queue.end(name)
    await asyncio.gather(*tasks)
    await asyncio.gather(*[await queue.enter("d1")], queue.end("d1"))


async def test_who_goes_while_waiting_is_passed_over():
    queue = Queue(1)
    tasks = [await queue.enter(name) for name in ("a1", "b1", "c1")]
    tasks[1].cancel()
    await asyncio.wait({tasks[1]})
    await queue.end("a1")
    assert queue.served == ["a1", "c1"]
    await queue.end("c1")


async def test_who_goes_in_the_moment_of_getting_the_place_hands_it_on():
    queue = Queue(1)
    tasks = [await queue.enter(name) for name in ("a1", "b1", "c1")]
    queue.ends["a1"].set()
    await asyncio.sleep(0)  # the place is b's, but b has not gone on yet
    tasks[1].cancel()
    await asyncio.wait({tasks[1]})
    await asyncio.sleep(0)
    assert queue.served == ["a1", "c1"]
    await queue.end("c1")


async def test_who_goes_in_the_moment_before_a_place_is_given_is_passed_over():
    queue = Queue(1)
    tasks = [await queue.enter(name) for name in ("a1", "b1", "c1")]
    queue.ends["a1"].set()
    tasks[1].cancel()  # a wakes first: b is still in the queue when a gives its place
    await queue.end("a1")
    assert queue.served == ["a1", "c1"]
    await queue.end("c1")
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(end) for end in ended] == [type(None), asyncio.CancelledError, type(None)]


async def test_a_place_that_nobody_waits_for_any_more_is_free():
    queue = Queue(1)
    tasks = [await queue.enter(name) for name in ("a1", "b1")]
    queue.ends["a1"].set()
    tasks[1].cancel()
    await asyncio.wait(tasks)
    tasks.append(await queue.enter("c1"))
    assert queue.served == ["a1", "c1"]
    await queue.end("c1")
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_task_that_has_gone_costs_its_caller_no_turn():
    queue = Queue(1)
    tasks = [await queue.enter(name) for name in ("a1", "b1", "b2", "c1")]
    tasks[1].cancel()
    await asyncio.wait({tasks[1]})
    for name in ("a1", "b2", "c1"):
        await queue.end(name)
    assert queue.served == ["a1", "b2", "c1"]
