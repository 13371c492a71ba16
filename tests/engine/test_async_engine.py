"""The engine's thread: streams, aborts, its own death, and shutting down."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import ClassVar

import pytest

from engine.async_engine import AsyncEngine
from engine.errors import EngineDeadError, InvalidRequestError
from engine.output import FinishReason
from engine.request import Request
from tests.engine.support import (
    Faulty,
    Finished,
    Script,
    Silent,
    greedy,
    prompt,
    run_one,
    tiny_engine,
)


@contextlib.asynccontextmanager
async def serving(engine):
    served = AsyncEngine(engine)
    served.start()
    try:
        yield served
    finally:
        await served.shutdown()


async def collect(served, request):
    finished = Finished()
    async for output in served.generate(request):
        finished.add(output)
    return finished


async def settled(served):
    """The stats once nothing runs or waits any more."""
    async with asyncio.timeout(60):
        while served.stats().num_running or served.stats().num_waiting:  # noqa: ASYNC110
            await asyncio.sleep(0)
    return served.stats()


async def test_many_tasks_get_what_each_would_get_alone():
    engine = tiny_engine(max_num_seqs=4)
    requests = [Request(str(i), prompt(5 + i, i), greedy(12)) for i in range(8)]
    alone = [run_one(engine, r.prompt_token_ids, r.sampling) for r in requests]
    async with serving(engine) as served:
        assert served.is_alive
        together = await asyncio.gather(*(collect(served, request) for request in requests))
        stats = served.stats()
    assert list(together) == alone
    assert (stats.num_running, stats.num_waiting) == (0, 0)
    assert stats.counters.finished[FinishReason.LENGTH] == 16


async def test_closing_the_iterator_aborts_the_request():
    async with serving(tiny_engine()) as served:
        stream = served.generate(Request("x", prompt(5), greedy(200)))
        await anext(stream)
        await stream.aclose()
        stats = await settled(served)
        assert stats.counters.finished[FinishReason.ABORT] == 1
        assert stats.num_free_blocks == stats.num_blocks
        assert (await collect(served, Request("x", prompt(5), greedy(3)))).token_ids


async def test_closing_an_ended_stream_does_not_abort_the_next_request_of_that_id():
    async with serving(tiny_engine()) as served:
        ended = served.generate(Request("x", prompt(5), greedy(2)))
        await anext(ended)
        await settled(served)
        running = served.generate(Request("x", prompt(5), greedy(100)))
        await anext(running)
        await ended.aclose()
        reasons = [output.finish_reason async for output in running]
    assert reasons[-1] is FinishReason.LENGTH


async def test_those_who_wait_are_told_even_if_the_engine_cannot_be_closed(monkeypatch):
    engine = tiny_engine()
    closed = threading.Event()
    close = engine.close

    def slow_close():
        closed.wait()
        close()

    def broken():
        raise KeyError("no such thing")

    monkeypatch.setattr(engine, "step", broken)
    monkeypatch.setattr(engine, "close", slow_close)
    served = AsyncEngine(engine)
    served.start()
    try:
        with pytest.raises(EngineDeadError, match="KeyError"):
            await asyncio.wait_for(collect(served, Request("x", prompt(5), greedy(3))), 60)
    finally:
        closed.set()
        await served.shutdown()


async def test_cancelling_a_task_aborts_its_request_even_while_it_is_queued():
    async with serving(tiny_engine(max_num_seqs=1)) as served:
        tasks = [
            asyncio.create_task(collect(served, Request(str(i), prompt(5), greedy(240))))
            for i in range(3)
        ]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        stats = await settled(served)
        assert stats.num_free_blocks == stats.num_blocks


async def test_an_abort_by_id_gives_the_reader_a_last_output():
    async with serving(tiny_engine()) as served:
        reasons = []
        async for output in served.generate(Request("x", prompt(5), greedy(200))):
            reasons.append(output.finish_reason)
            if len(reasons) == 2:
                served.abort("x")
                served.abort("unknown")
        assert reasons[-1] is FinishReason.ABORT
        assert len(reasons) < 200


async def test_an_invalid_request_is_refused_and_the_engine_goes_on():
    async with serving(tiny_engine()) as served:
        with pytest.raises(InvalidRequestError, match="the prompt is empty"):
            await collect(served, Request("x", (), greedy(3)))
        with pytest.raises(InvalidRequestError, match="the prompt is empty"):
            served.check_request(Request("x", (), greedy(3)))
        stream = served.generate(Request("x", prompt(5), greedy(200)))
        await anext(stream)
        with pytest.raises(InvalidRequestError, match="x is in use"):
            await collect(served, Request("x", prompt(5), greedy(3)))
        await stream.aclose()


async def test_a_failing_request_does_not_end_the_others():
    def fault():
        raise RuntimeError("boom")

    async with serving(tiny_engine()) as served:
        faulty = Request("bad", prompt(5), greedy(9), Faulty("fill_bitmask", 2, fault))
        bad, good = await asyncio.gather(
            collect(served, faulty), collect(served, Request("good", prompt(5), greedy(9)))
        )
        assert (bad.finish_reason, len(bad.token_ids)) == (FinishReason.ERROR, 2)
        assert (good.finish_reason, len(good.token_ids)) == (FinishReason.LENGTH, 9)
        assert served.is_alive


async def test_the_death_of_the_engine_reaches_everybody_who_waits(monkeypatch):
    engine = tiny_engine()
    step = engine.step

    def dying():
        if engine.stats().counters.output_tokens > 4:
            raise MemoryError("no more")
        return step()

    monkeypatch.setattr(engine, "step", dying)
    served = AsyncEngine(engine)
    served.start()
    results = await asyncio.gather(
        *(collect(served, Request(str(i), prompt(5), greedy(50))) for i in range(3)),
        return_exceptions=True,
    )
    assert [str(error) for error in results] == ["the engine has stopped (MemoryError)"] * 3
    assert all(isinstance(error, EngineDeadError) for error in results)
    assert not served.is_alive
    with pytest.raises(EngineDeadError):
        await collect(served, Request("late", prompt(5), greedy(2)))
    await served.shutdown()


async def test_shutting_down_ends_those_who_wait():
    served = AsyncEngine(tiny_engine())
    served.start()
    task = asyncio.create_task(collect(served, Request("x", prompt(5), greedy(240))))
    await asyncio.sleep(0)
    await served.shutdown()
    with pytest.raises(EngineDeadError, match="the engine was shut down"):
        await task
    assert not served.is_alive


@pytest.mark.parametrize(
    ("constraint", "missing"),
    [
        (None, None),
        (Script([{60}] * 9), 4),
        (Script([{60}] * 9, complete_from=5, ends_by_itself=False), 0),
        (Script([{60}] * 5), None),  # it is whole
        (Silent([{60}] * 9), None),
    ],
)
async def test_a_cut_text_tells_how_many_tokens_it_lacks(constraint, missing):
    async with serving(tiny_engine()) as served:
        request = Request("x", prompt(5), greedy(5), constraint)
        outputs = [output async for output in served.generate(request)]
    assert [output.num_missing_tokens for output in outputs[:-1]] == [None] * (len(outputs) - 1)
    assert outputs[-1].num_missing_tokens == missing


async def test_little_of_a_large_grammar_is_looked_at_for_that():
    class Asked(Script):
        limits: ClassVar[list[int | None]] = []

        def min_tokens_to_complete(self, max_states=None):
            self.limits.append(max_states)
            raise LookupError("more would have to be looked at")

    async with serving(tiny_engine()) as served:
        request = Request("x", prompt(5), greedy(5), Asked([{60}] * 9))
        outputs = [output async for output in served.generate(request)]
    assert outputs[-1].num_missing_tokens is None
    (limit,) = Asked.limits
    assert limit is not None
    assert 0 < limit <= 256


async def test_an_answer_does_not_wait_long_for_that(monkeypatch):
    class Slow(Script):
        def min_tokens_to_complete(self, max_states=None):
            assert may_end.wait(60)
            return 1

    monkeypatch.setattr("engine.cut_texts._TIMEOUT_S", 0.01)
    may_end = threading.Event()
    async with serving(tiny_engine()) as served:
        for name in ("x", "y"):  # the thread is still busy with the first
            request = Request(name, prompt(5), greedy(5), Slow([{60}] * 9))
            finished = await collect(served, request)
            assert finished.finish_reason is FinishReason.LENGTH
        may_end.set()
