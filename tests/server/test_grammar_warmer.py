"""GrammarWarmer: grammars are expanded after they were compiled, and while nothing is compiled."""

from __future__ import annotations

import asyncio
import threading

import pytest

from grammars.compile import compile_grammar
from grammars.errors import LimitExceededError
from grammars.spec import Choice, JsonSchema, Regex
from server.config import ServerConfig
from server.grammar_compiler import GrammarCompiler
from tests.support.byte_vocabulary import byte_vocabulary

LONG_S = 60
OBJECT = JsonSchema('{"type": "object", "properties": {"a": {"type": "object"}, "b": true}}')


class Grammar:
    """Tells what is asked of it; expands at most `work` actions."""

    def __init__(self, work=0, failure=None):
        self.began, self.ended = threading.Event(), threading.Event()
        self.asked, self.done = [], 0
        self._work, self._failure = work, failure
        self.memory_bytes = 0

    def matcher(self):
        raise NotImplementedError

    def warm(self, num_actions, goes_on):
        self.asked.append(num_actions)
        self.began.set()
        if self._failure is not None:
            raise self._failure
        while self.done < min(self._work, num_actions) and goes_on():
            self.done += 1
        self.ended.set()
        return self.done


def compiler_of(compile_spec, warm_actions):
    return GrammarCompiler(compile_spec, max_concurrent=2, max_waiting=8, warm_actions=warm_actions)


async def test_a_compiled_grammar_is_expanded_once_and_so_far():
    grammar, last = Grammar(work=100), Grammar()
    compiler = compiler_of(lambda spec: last if spec == Regex("last") else grammar, 10)
    for _ in range(3):
        await compiler.compile(Regex("a"))
    await compiler.compile(Regex("last"))
    assert await asyncio.to_thread(last.ended.wait, LONG_S)
    assert (grammar.asked, grammar.done) == ([10], 10)
    compiler.close()


async def test_nothing_is_expanded_where_it_is_off():
    grammar = Grammar(work=1)
    compiler = compiler_of(lambda _: grammar, 0)
    await compiler.compile(Regex("a"))
    compiler._warmer._thread.shutdown(wait=True)
    assert grammar.asked == []
    compiler.close()


async def test_nothing_is_expanded_while_a_grammar_is_compiled():
    grammar, go_on = Grammar(work=5), threading.Event()

    def compile_spec(spec):
        if spec == Regex("slow"):
            go_on.wait(LONG_S)
            return Grammar()
        return grammar

    compiler = compiler_of(compile_spec, 10)
    slow = asyncio.create_task(compiler.compile(Regex("slow")))
    await asyncio.sleep(0)
    await compiler.compile(Regex("a"))
    assert await asyncio.to_thread(grammar.began.wait, LONG_S)
    assert grammar.done == 0
    go_on.set()
    await slow
    assert await asyncio.to_thread(grammar.ended.wait, LONG_S)
    assert grammar.done == 5
    compiler.close()


@pytest.mark.parametrize("failure", [LimitExceededError("max_states", 1, "it"), KeyError("bug")])
async def test_one_grammar_that_fails_does_not_end_the_others(failure):
    grammars = {"bad": Grammar(failure=failure), "good": Grammar(work=2)}
    compiler = compiler_of(lambda spec: grammars[spec.pattern], 10)
    assert await compiler.compile(Regex("bad")) is grammars["bad"]
    await compiler.compile(Regex("good"))
    assert await asyncio.to_thread(grammars["good"].ended.wait, LONG_S)
    compiler.close()


async def test_closing_ends_what_is_under_way():
    grammar = Grammar(work=10**9)
    compiler = compiler_of(lambda _: grammar, 10**9)
    await compiler.compile(Regex("a"))
    assert await asyncio.to_thread(grammar.began.wait, LONG_S)
    compiler.close()
    assert await asyncio.to_thread(grammar.ended.wait, LONG_S)


@pytest.mark.parametrize("spec", [OBJECT, Choice(("a", "b"))])
async def test_real_grammars_are_expanded(spec):
    vocabulary = byte_vocabulary()
    plain = compile_grammar(spec, vocabulary)
    plain.warm(10**6)
    compiler = compiler_of(lambda spec: compile_grammar(spec, vocabulary), 10**6)
    grammar = await compiler.compile(spec)
    compiler._warmer._thread.shutdown(wait=True)
    assert grammar.num_states == plain.num_states
    compiler.close()


def test_the_setting_is_checked():
    with pytest.raises(ValueError, match="warm_actions: -1 is negative; 0 is off"):
        ServerConfig(warm_actions=-1)
