"""The server's side of the channel, before a process that says what the test makes it say."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from unittest.mock import Mock

import pytest

from engine.config import EngineConfig
from grammars.spec import Literal, Regex, Sequence, Structure
from server.engine_process import supervisor
from server.engine_process.channel import Channel
from server.engine_process.client import ProcessEngine
from server.engine_process.launch import EngineChild
from server.engine_process.messages import (
    Compile,
    Compiled,
    CompileFailed,
    CompileShed,
    GrammarsReady,
    Progress,
    Ready,
    Release,
    Start,
)
from server.engine_process.settings import EngineProcessConfig
from server.errors import InternalError, OverloadedError, StartupError, UnavailableError
from server.logs import LogSettings
from tests.support.loop_work import counted_loop_work

LONG_S = 60
SPEC = Regex("[a-f]{9,19}")


@asynccontextmanager
async def speaking_with(said, *, compiles):
    """An engine client, and the other end of its channel."""
    ours, theirs = socket.socketpair()
    start = Start(
        "tiny", EngineConfig(), "tightrope", 2**26, 1, 8, 0, 60.0, LogSettings("error", "text")
    )
    child = EngineChild(Mock(pid=0), Channel(ours), Ready(Mock(), 64, 0, 0, compiles))
    settings = EngineProcessConfig(max_engine_restarts=1)
    engine = ProcessEngine(child, start, settings, announce=said.append)
    behind = Channel(theirs)
    engine.start()
    try:
        yield engine, behind
    finally:
        behind.close()
        await engine.shutdown()


async def heard(behind, kind):
    async with asyncio.timeout(LONG_S):
        while not isinstance(message := await behind.receive(), kind):
            pass
    return message


async def answer_compile(behind):
    message = await heard(behind, Compile)
    behind.send(Compiled(message.grammar_id, None, 10))
    return message


async def test_a_constraint_is_sent_once_the_kernels_of_grammars_are_compiled():
    said: list[str] = []
    async with speaking_with(said, compiles=False) as (engine, behind):
        compiling = asyncio.create_task(engine.compile(SPEC))
        receiving = asyncio.create_task(answer_compile(behind))
        behind.send(Progress("Compiling kernel 6 of 32: walk"))
        await asyncio.sleep(0.05)  # whatever was to be sent has come
        assert not receiving.done()
        behind.send(GrammarsReady())
        assert (await receiving).spec == SPEC
        assert (await compiling).memory_bytes == 10
        assert said == ["Compiling kernel 6 of 32: walk", "Grammars: ready"]
        again = asyncio.create_task(engine.compile(SPEC))
        await answer_compile(behind)
        await again


async def test_a_constraint_is_sent_at_once_where_the_kernels_were_there():
    async with speaking_with([], compiles=True) as (engine, behind):
        compiling = asyncio.create_task(engine.compile(SPEC))
        await answer_compile(behind)
        assert (await compiling).memory_bytes == 10


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (CompileShed, OverloadedError, "Too many constraints are being compiled; try again later"),
        (
            lambda grammar_id: CompileFailed(grammar_id, "the compile failed (KeyError)"),
            InternalError,
            "An error of the server: the compile failed (KeyError)",
        ),
    ],
)
async def test_a_compile_that_is_shed_or_fails_is_told_as_such(answer, kind, message):
    async with speaking_with([], compiles=True) as (engine, behind):
        compiling = asyncio.create_task(engine.compile(SPEC))
        behind.send(answer((await heard(behind, Compile)).grammar_id))
        with pytest.raises(kind) as caught:
            await compiling
        assert caught.value.message == message


async def test_a_compile_that_nobody_waits_for_any_more_is_released():
    async with speaking_with([], compiles=True) as (engine, behind):
        compiling = asyncio.create_task(engine.compile(SPEC))
        grammar_id = (await heard(behind, Compile)).grammar_id
        compiling.cancel()
        assert (await heard(behind, Release)).grammar_id == grammar_id
        behind.send(Compiled(grammar_id, None, 10))  # it was ready all the same
        assert (await heard(behind, Release)).grammar_id == grammar_id


async def test_a_structure_of_many_parts_crosses_beside_the_event_loops():
    structure = Structure(Sequence(tuple(Literal(f"part {number}") for number in range(5_000))))
    async with speaking_with([], compiles=True) as (engine, behind):
        with counted_loop_work() as work:
            compiling = asyncio.create_task(engine.compile(structure))
            message = await answer_compile(behind)
            await compiling
        assert message.spec == structure
        assert 0 < work.most_calls < 1_000


async def test_a_structure_is_not_sent_to_a_process_that_has_ended_meanwhile(monkeypatch):
    monkeypatch.setattr(supervisor, "launch", refuse)
    async with speaking_with([], compiles=True) as (engine, behind):

        async def end(encode, *message):
            behind.close()
            while engine.is_alive:  # noqa: ASYNC110  # nobody is told of it
                await asyncio.sleep(0)
            return encode(*message)

        monkeypatch.setattr(asyncio, "to_thread", end)
        with pytest.raises(UnavailableError, match="has stopped"):
            await engine.compile(SPEC)


async def refuse(*_args, **_options):
    raise StartupError("there is no memory left")


async def test_a_constraint_that_waits_is_refused_when_the_process_ends(monkeypatch):
    monkeypatch.setattr(supervisor, "launch", refuse)
    async with speaking_with([], compiles=False) as (engine, behind):
        compiling = asyncio.create_task(engine.compile(SPEC))
        await asyncio.sleep(0)
        behind.close()
        async with asyncio.timeout(LONG_S):
            with pytest.raises(UnavailableError, match="being started again"):
                await compiling
