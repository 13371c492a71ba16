"""Grammars that the engine's device follows: tables made once, answers as without them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import httpx
import pytest

from engine.config import EngineConfig
from grammars.compile import compile_grammar
from grammars.spec import Choice, JsonSchema
from server.assembly import load_server
from server.backend import load_backend
from server.config import ServerConfig
from server.device_automata import DeviceAutomata
from server.engine_process.settings import EngineProcessConfig
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.chat_server import TOOL_TEMPLATE, running
from tests.support.tiny_folder import write_tiny_folder

LONG_S = 120
RECURSIVE = JsonSchema('{"type": "array", "items": {"$ref": "#"}}')


def compiled(spec):
    return compile_grammar(spec, byte_vocabulary(("<end>",)))


def made(automata, grammar):
    assert automata.begin(grammar)
    automata.make(grammar, lambda: True)
    return automata.find(grammar)


def test_tables_are_made_once_and_kept_as_long_as_their_grammar():
    automata, grammar = DeviceAutomata(2**24), compiled(Choice(("abc", "ab")))
    tables = made(automata, grammar)
    assert tables is not None
    assert automata.find(grammar) is tables
    assert not automata.begin(grammar)
    assert automata.find(compiled(Choice(("abc", "ab")))) is None
    del grammar
    assert len(automata._tables) == 0


def test_a_grammar_without_end_has_no_tables_and_is_tried_once():
    automata, grammar = DeviceAutomata(2**20), compiled(RECURSIVE)
    assert made(automata, grammar) is None
    assert not automata.begin(grammar)


def test_what_is_no_grammar_of_ours_has_no_tables():
    automata = DeviceAutomata(2**20)
    automata.make(object(), lambda: True)
    assert automata.find(object()) is None


def test_those_not_asked_for_longest_make_room_and_are_made_again_when_wanted():
    grammars = [compiled(Choice((letter * 3,))) for letter in "abc"]
    size = made(DeviceAutomata(2**24), grammars[0]).num_bytes
    automata = DeviceAutomata(16 * size)
    automata._max_bytes = 2 * size
    for grammar in grammars[:2]:
        made(automata, grammar)
    automata.find(grammars[0])
    made(automata, grammars[2])
    assert [automata.find(grammar) is None for grammar in grammars] == [False, True, False]
    assert made(automata, grammars[1]) is not None


def test_who_stops_the_making_gets_nothing():
    automata, grammar = DeviceAutomata(2**24), compiled(Choice(("abc", "ab")))
    automata.begin(grammar)
    automata.make(grammar, lambda: False)
    assert automata.find(grammar) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_folder(
        tmp_path_factory.mktemp("tables") / "tiny", context_len=512, chat_template=TOOL_TEMPLATE
    )


BODIES = (
    {"structured_outputs": {"choice": ["red and green", "blue"]}, "temperature": 0},
    {"structured_outputs": {"regex": "[a-f]{3,9}"}, "temperature": 1.2, "seed": 4, "n": 2},
    {"structured_outputs": {"regex": "[a-f]{3,9}"}, "seed": 4, "top_p": 0.6},
    {"response_format": {"type": "json_object"}, "seed": 8},
    {"seed": 9},
)
"""Followed by the device, followed, left to the host by a parameter, by its grammar, free."""


def answers(url, *, at_once):
    """The texts of all bodies, one after the other or all together."""

    async def one(client, body):
        message = {"role": "user", "content": "Name a colour."}
        asked = {"model": "tiny", "messages": [message], "max_tokens": 24, **body}
        answer = (await client.post(f"{url}/v1/chat/completions", json=asked)).json()
        return [(c["message"]["content"], c["finish_reason"]) for c in answer["choices"]]

    async def everything():
        async with httpx.AsyncClient(timeout=LONG_S) as client:
            if at_once:
                return await asyncio.gather(*(one(client, body) for body in BODIES))
            return [await one(client, body) for body in BODIES]

    return asyncio.run(everything())


def test_answers_are_those_of_the_host_alone_and_together(folder):
    def load(max_burst_steps):
        return load_server(
            folder,
            EngineConfig(max_num_seqs=8, max_burst_steps=max_burst_steps, automata_bytes=2**24),
            ServerConfig(served_names=("tiny",)),
            EngineProcessConfig(engine_process=False),
            announce=lambda stage: None,
        )

    plain, following = load(1), load(6)
    with running(plain.services, plain.lifespan) as url:
        expected = answers(url, at_once=False)
    with running(following.services, following.lifespan) as url:
        first = answers(url, at_once=False)  # tables are made meanwhile
        automata = following.services.compiler._automata
        asyncio.run(until(lambda: len(automata._tables) == 2))
        num_bursts = following.engine.stats().counters.bursts
        alone = answers(url, at_once=False)
        assert following.engine.stats().counters.bursts > num_bursts
        together = answers(url, at_once=True)
    assert first == alone == together == expected


async def until(condition):
    async with asyncio.timeout(LONG_S):
        while not condition():  # noqa: ASYNC110  # what is waited for has no event
            await asyncio.sleep(0.01)


def test_where_nothing_follows_them_no_tables_are_made(folder):
    backend = load_backend(
        folder,
        replace(EngineConfig(), max_num_seqs=2),
        grammar_backend="tightrope",
        grammar_cache_bytes=2**26,
        announce=lambda stage: None,
    )
    backend.prepare_grammars()
    assert backend.automata is None
