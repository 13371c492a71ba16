"""The engine in a process of its own: what it does, and what becomes of its requests if it dies."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import EngineConfig
from engine.errors import EngineDeadError, InvalidRequestError
from engine.output import FinishReason
from engine.request import Request, SamplingParams
from grammars.errors import UnsatisfiableError
from grammars.spec import Choice, JsonSchema
from server.engine_process import supervisor
from server.engine_process.client import ProcessEngine
from server.engine_process.launch import launch
from server.engine_process.messages import Start
from server.engine_process.settings import EngineProcessConfig
from server.errors import StartupError, UnavailableError
from server.logs import LogSettings

LONG = 100
PATIENT = EngineProcessConfig(engine_heartbeat_s=0.2, engine_restart_pause_s=0.1)


def start_of(folder, **changes) -> Start:
    start = Start(
        model_folder=str(folder),
        engine=EngineConfig(max_num_seqs=8, max_model_len=LONG + 20),
        grammar_backend="tightrope",
        grammar_cache_bytes=2**26,
        max_concurrent_compiles=1,
        max_waiting_compiles=8,
        warm_actions=20,
        heartbeat_s=0.2,
        logs=LogSettings("error", "text"),
    )
    return replace(start, **changes)


@asynccontextmanager
async def serving(folder, settings=PATIENT):
    told: list[str] = []
    start = start_of(folder)
    child = await launch(start, announce=told.append, silence_s=120)
    engine = ProcessEngine(child, start, settings, announce=told.append)
    engine.start()
    try:
        yield engine
    finally:
        await engine.shutdown()
        assert child.process.poll() is not None, "the process is left behind"


@pytest.mark.parametrize(("set_to", "found"), [(None, "PASSIVE"), ("ACTIVE", "ACTIVE")])
async def test_threads_of_torch_sleep_while_they_wait_unless_it_is_set(monkeypatch, set_to, found):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if set_to is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", set_to)
    started = []

    def popen(*_arguments, env, **_options):
        started.append(env)
        raise OSError

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(OSError):  # noqa: PT011  # ours
        await launch(start_of("none"), announce=lambda _stage: None, silence_s=1)
    assert started[0]["OMP_WAIT_POLICY"] == found
    assert started[0]["PATH"] == os.environ["PATH"]


def request(name="seq", max_tokens=8, constraint=None) -> Request:
    sampling = SamplingParams(max_tokens=max_tokens, temperature=0.0, ignore_eos=True)
    return Request(name, (1, 2, 3), sampling, constraint)


async def collect(engine, asked) -> tuple[list[int], FinishReason]:
    token_ids: list[int] = []
    async with asyncio.timeout(60), aclosing(engine.generate(asked)) as outputs:
        async for output in outputs:
            token_ids += output.token_ids
    return token_ids, output.finish_reason


async def until(condition, limit_s=60.0):
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110  # what is waited for has no event
            await asyncio.sleep(0.02)


async def test_it_generates_compiles_refuses_and_is_replaced_when_it_is_killed(tiny_folder):
    async with serving(tiny_folder) as engine:
        # Free text, several at once, each as alone.
        alone = await collect(engine, request())
        assert (len(alone[0]), alone[1]) == (8, FinishReason.LENGTH)
        together = await asyncio.gather(
            *(collect(engine, request(f"seq-{number}")) for number in range(5))
        )
        assert together == [alone] * 5

        # Grammars live there; what is refused is refused as it would be here.
        grammar = await engine.compile(Choice(("yes", "no")))
        answers = [
            await collect(engine, request(max_tokens=20, constraint=grammar.matcher()))
            for _ in range(2)
        ]
        assert {reason for _, reason in answers} == {FinishReason.STOP}
        with pytest.raises(UnsatisfiableError, match="requires the key 'a'"):
            await engine.compile(
                JsonSchema('{"type": "object", "required": ["a"], "properties": {"a": false}}')
            )
        with pytest.raises(InvalidRequestError, match="max_tokens"):
            await collect(engine, request(max_tokens=0))

        # Whoever goes away frees its place.
        outputs = engine.generate(request("gone", max_tokens=LONG))
        await anext(outputs)
        await outputs.aclose()
        await until(lambda: engine.stats().num_running == 0)
        assert engine.stats().num_free_blocks == engine.stats().num_blocks

        # Killed in mid-stream: those who wait are told, and the next process serves.
        victim = engine.supervisor.child.pid
        running = [
            asyncio.create_task(collect(engine, request(f"long-{number}", max_tokens=LONG)))
            for number in range(3)
        ]
        await until(lambda: engine.stats().num_running == 3)
        os.kill(victim, signal.SIGKILL)
        results = await asyncio.gather(*running, return_exceptions=True)
        assert [type(result) for result in results] == [EngineDeadError] * 3
        assert not engine.is_alive
        with pytest.raises(EngineDeadError):
            await collect(engine, request())
        with pytest.raises(UnavailableError, match="started again"):
            await engine.compile(Choice(("a",)))
        await until(lambda: engine.is_alive)
        assert engine.supervisor.child.pid != victim
        assert engine.stats().num_restarts == 1
        assert await collect(engine, request()) == alone
        with pytest.raises(EngineDeadError, match="in the meantime"):
            await collect(engine, request(constraint=grammar.matcher()))


async def test_a_process_that_hangs_is_found_out_and_replaced(tiny_folder):
    settings = replace(PATIENT, engine_silence_s=1.0)
    async with serving(tiny_folder, settings) as engine:
        victim = engine.supervisor.child.pid
        running = asyncio.create_task(collect(engine, request(max_tokens=LONG)))
        await until(lambda: engine.stats().num_running == 1)
        os.kill(victim, signal.SIGSTOP)
        with pytest.raises(EngineDeadError):
            await running
        await until(lambda: engine.is_alive)
        assert (await collect(engine, request()))[1] is FinishReason.LENGTH


async def refuse(*_args, **_options):
    raise StartupError("no room")


async def test_a_process_that_cannot_be_replaced_is_given_up(tiny_folder, monkeypatch):
    settings = replace(PATIENT, max_engine_restarts=2)
    async with serving(tiny_folder, settings) as engine:
        given_up = asyncio.Event()
        engine.supervisor.on_hopeless = given_up.set
        monkeypatch.setattr(supervisor, "launch", refuse)
        os.kill(engine.supervisor.child.pid, signal.SIGKILL)
        async with asyncio.timeout(120):
            await given_up.wait()
        assert not engine.is_alive


async def test_a_model_that_cannot_be_loaded_is_told_in_the_engines_own_words(tmp_path):
    with pytest.raises(StartupError, match="has no usable tokenizer"):
        await launch(start_of(tmp_path), announce=lambda stage: None, silence_s=120)


PARENT = """
import asyncio, sys
from tests.server.engine_process.test_process import start_of
from server.engine_process.launch import launch

async def main():
    child = await launch(start_of(sys.argv[1]), announce=lambda stage: None, silence_s=120)
    print(child.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_the_engine_ends_with_the_server_even_if_that_is_killed(tiny_folder):
    command = [sys.executable, "-c", PARENT, str(tiny_folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        os.kill(pid, 0)
        parent.kill()
    deadline = time.monotonic() + 120
    while _is_running(pid):
        assert time.monotonic() < deadline, "the engine has outlived its server"
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
