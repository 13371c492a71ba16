"""GrammarCompiler: compiles in threads, a bounded number at a time, what is refused once."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading

import pytest

from engine.pacing import Pacer
from grammars.compile import compile_grammar
from grammars.errors import LimitExceededError, UnsupportedError
from grammars.spec import JsonSchema, Regex
from server.errors import OverloadedError
from server.grammar_compiler import _MAX_REFUSALS, GrammarCompiler
from tests.support.byte_vocabulary import byte_vocabulary


async def test_what_was_refused_is_not_compiled_again_for_a_while():
    compiled = []

    def compile_spec(spec):
        compiled.append(spec.pattern)
        raise UnsupportedError("no", keyword=spec.pattern)

    compiler = GrammarCompiler(compile_spec, max_concurrent=1, max_waiting=1)
    for _ in range(3):
        with pytest.raises(UnsupportedError, match="no") as caught:
            await compiler.compile(Regex("a"))
        assert caught.value.keyword == "a"
    assert compiled == ["a"]
    for number in range(_MAX_REFUSALS):
        with pytest.raises(UnsupportedError):
            await compiler.compile(Regex(str(number)))
    with pytest.raises(UnsupportedError):
        await compiler.compile(Regex("a"))
    assert compiled.count("a") == 2
    assert len(compiler._refusals) == _MAX_REFUSALS
    compiler.close()


@pytest.mark.parametrize("field", ["reason", "pointer", "keyword", "place"])
async def test_a_refusal_that_quotes_much_of_its_spec_is_not_kept(field):
    compiled = []

    def compile_spec(spec):
        compiled.append(spec.pattern)
        raise UnsupportedError(**({"reason": "no"} | {field: "k" * 100_000}))

    compiler = GrammarCompiler(compile_spec, max_concurrent=1, max_waiting=1)
    for _ in range(2):
        with pytest.raises(UnsupportedError):
            await compiler.compile(Regex("a"))
    assert compiled == ["a", "a"]
    assert not compiler._refusals
    compiler.close()


async def test_errors_keep_their_fields_when_they_are_told_again():
    def compile_spec(spec):
        raise LimitExceededError("max_states", 5, "a pattern")

    compiler = GrammarCompiler(compile_spec, max_concurrent=1, max_waiting=1)
    told = []
    for _ in range(2):
        with pytest.raises(LimitExceededError) as caught:
            await compiler.compile(Regex("a"))
        told.append((str(caught.value), caught.value.limit, caught.value.allowed))
    assert told[0] == told[1]
    compiler.close()


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
async def test_compiles_and_what_is_expanded_ahead_leave_the_processors_to_the_step_loop():
    priorities = {}

    def note(name):
        thread_id = threading.get_native_id()
        priorities[name] = os.getpriority(os.PRIO_PROCESS, thread_id)

    warmed = threading.Event()

    class Grammar:
        memory_bytes = 0

        def matcher(self):
            raise NotImplementedError

        def warm(self, num_actions, goes_on):
            note("warmer")
            warmed.set()
            return 0

    def compile_spec(spec):
        note("compiler")
        return Grammar()

    note("step loop")
    compiler = GrammarCompiler(compile_spec, max_concurrent=1, max_waiting=1, warm_actions=1)
    await compiler.compile(Regex("a"))
    assert await asyncio.to_thread(warmed.wait, 60)
    note("step loop, later")
    assert priorities["step loop"] == priorities["step loop, later"]
    assert priorities["compiler"] == priorities["warmer"] > priorities["step loop"]
    compiler.close()


async def test_a_long_compile_is_paused_while_others_generate():
    num_pauses = 0

    def pause(_seconds):
        nonlocal num_pauses
        num_pauses += 1

    names = [f"member {number}" for number in range(10_000)]
    large = JsonSchema(json.dumps({"properties": {name: {} for name in names}}))

    def compile_spec(spec):
        return compile_grammar(spec, byte_vocabulary())

    idle, busy = Pacer(lambda: False, sleep=pause), Pacer(lambda: True, sleep=pause)
    for pacer in (idle, busy):
        assert num_pauses == 0
        compiler = GrammarCompiler(compile_spec, max_concurrent=1, max_waiting=1, pacer=pacer)
        await compiler.compile(large)
        compiler.close()
    assert num_pauses > 0


async def test_a_flood_of_one_caller_keeps_anothers_compile_waiting_for_one():
    go_on = threading.Semaphore(0)
    compiled = []

    def compile_spec(spec):
        compiled.append(spec.pattern)
        go_on.acquire()
        return compile_grammar(Regex("a"), byte_vocabulary())

    compiler = GrammarCompiler(compile_spec, max_concurrent=1, max_waiting=8)
    asked = ("a1", "a2", "a3", "b1")
    running = []
    for text in asked:
        work = compiler.compile(Regex(text), caller=text[:1].encode())
        running.append(asyncio.create_task(work))
        await asyncio.sleep(0)
    go_on.release(len(asked))
    await asyncio.gather(*running)
    assert compiled == ["a1", "a2", "b1", "a3"]
    compiler.close()


async def test_compiles_past_the_limit_are_shed_and_a_cancelled_one_leaves_the_queue():
    go_on = threading.Event()
    grammar = compile_grammar(Regex("a"), byte_vocabulary())

    def compile_spec(spec):
        go_on.wait(60)
        return grammar

    compiler = GrammarCompiler(compile_spec, max_concurrent=1, max_waiting=1)
    running = [asyncio.create_task(compiler.compile(Regex(text))) for text in "ab"]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        await compiler.compile(Regex("c"))
    running[1].cancel()
    await asyncio.wait({running[1]})
    running[1] = asyncio.create_task(compiler.compile(Regex("d")))
    await asyncio.sleep(0)
    go_on.set()
    assert await asyncio.gather(*running) == [grammar, grammar]
    compiler.close()
