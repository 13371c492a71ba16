"""The engine's side of the channel, in this process: what the messages do."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import threading
from contextlib import asynccontextmanager

import pytest

from engine.config import EngineConfig
from engine.output import FinishReason
from engine.request import Request, SamplingParams
from grammars.spec import Regex
from server.backend import load_backend
from server.engine_process.channel import Channel
from server.engine_process.host import EngineHost
from server.engine_process.messages import (
    Abort,
    Compile,
    Compiled,
    Died,
    Generate,
    GrammarsReady,
    Outputs,
    Ready,
    Release,
    Start,
    Stop,
)
from server.errors import StartupError
from server.logs import LogSettings
from tests.support.tiny_folder import write_tiny_folder

LONG_S = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("host") / "tiny", context_len=4096)


class Peer:
    """The server's end of the channel."""

    def __init__(self, channel, host, backend):
        self.channel, self.host, self.backend = channel, host, backend
        self.ready = None

    async def heard(self, kind):
        """The next message of a kind; heartbeats and others are passed over."""
        async with asyncio.timeout(LONG_S):
            while not isinstance(message := await self.channel.receive(), kind):
                pass
        return message

    async def text(self, request_id):
        """Tokens and end of the only request under way, and how many bursts there were."""
        token_ids = []
        while True:
            message = await self.heard(Outputs)
            for output in message.outputs:
                assert output.request_id == request_id
                token_ids += output.token_ids
            if output.finish_reason is not None:
                return token_ids, output.finish_reason, message.stats.counters.bursts


@asynccontextmanager
async def hosting(folder, engine, grammar_backend="tightrope", prepare_grammars=None):
    """Ready for grammars; or, where `prepare_grammars` is given, once that has returned."""
    ours, theirs = socket.socketpair()
    start = Start(
        model_folder=str(folder),
        engine=engine,
        grammar_backend=grammar_backend,
        grammar_cache_bytes=2**26,
        max_concurrent_compiles=1,
        max_waiting_compiles=8,
        warm_actions=0,
        heartbeat_s=60.0,
        logs=LogSettings("error", "text"),
    )
    backend = await asyncio.to_thread(
        load_backend,
        folder,
        start.engine,
        grammar_backend=start.grammar_backend,
        grammar_cache_bytes=start.grammar_cache_bytes,
        announce=lambda stage: None,
    )
    await asyncio.to_thread(backend.prepare_grammars)
    if prepare_grammars is not None:
        backend = dataclasses.replace(backend, prepare_grammars=prepare_grammars)
    behind, channel = Channel(theirs), Channel(ours)
    host = EngineHost(behind, backend, start, compiles=prepare_grammars is None)
    running = asyncio.create_task(host.run())
    peer = Peer(channel, host, backend)
    peer.ready = await peer.heard(Ready)
    try:
        yield peer
        channel.send(Stop())
        await asyncio.wait_for(running, LONG_S)
    finally:
        channel.close()
        behind.close()


async def test_an_abort_right_behind_its_request_ends_it(folder):
    """Both messages may lie in one packet, and the request's task has not begun then."""
    sampling = SamplingParams(4000, temperature=0.0, ignore_eos=True)
    async with hosting(folder, EngineConfig(max_num_seqs=2)) as peer:
        peer.channel.send(Generate(Request("gone", (1, 2, 3), sampling), grammar_id=None))
        peer.channel.send(Abort("gone"))
        token_ids, reason, _ = await peer.text("gone")
        assert (reason, len(token_ids) < 4000) == (FinishReason.ABORT, True)


@pytest.mark.parametrize(("grammar_backend", "fewest"), [("tightrope", 9), ("llguidance", None)])
async def test_the_fewest_tokens_are_found_only_where_a_text_has_to_close(
    folder, grammar_backend, fewest
):
    """A backend that cannot tell them serves all other requests."""
    if grammar_backend != "tightrope":
        pytest.importorskip(grammar_backend)
    async with hosting(folder, EngineConfig(max_num_seqs=2), grammar_backend) as peer:
        peer.channel.send(Compile(1, Regex("[a-f]{9,19}")))
        assert (await peer.heard(Compiled)).min_tokens is None
        peer.channel.send(Compile(2, Regex("[a-f]{9,19}"), closes=True))
        assert (await peer.heard(Compiled)).min_tokens == fewest


async def test_grammars_are_followed_on_the_device_where_bursts_are_on(folder):
    config = EngineConfig(max_num_seqs=8, max_burst_steps=6, automata_bytes=2**24)
    async with hosting(folder, config) as peer:
        peer.channel.send(Compile(1, Regex("[a-f]{9,19}")))
        await peer.heard(Compiled)

        async def text(request_id):
            sampling = SamplingParams(24, temperature=1.0, seed=3)
            peer.channel.send(Generate(Request(request_id, (1, 2, 3), sampling), grammar_id=1))
            return await peer.text(request_id)

        token_ids, reason, num_bursts = await text("before")
        automata = peer.backend.automata
        async with asyncio.timeout(LONG_S):
            while automata.find(peer.host._grammars[1]) is None:  # noqa: ASYNC110  # no event
                await asyncio.sleep(0.01)
        followed = await text("after")
        assert followed[:2] == (token_ids, reason)
        assert followed[2] > num_bursts
        peer.channel.send(Release(1))


async def test_free_text_is_generated_while_kernels_of_grammars_are_compiled(folder):
    are_compiled = threading.Event()
    config = EngineConfig(max_num_seqs=2)
    async with hosting(folder, config, prepare_grammars=are_compiled.wait) as peer:
        assert not peer.ready.compiles
        sampling = SamplingParams(3, temperature=0.0, ignore_eos=True)
        peer.channel.send(Generate(Request("free", (1, 2, 3), sampling), grammar_id=None))
        token_ids, reason, _ = await peer.text("free")
        assert (len(token_ids), reason) == (3, FinishReason.LENGTH)
        are_compiled.set()
        await peer.heard(GrammarsReady)
        peer.channel.send(Compile(1, Regex("[a-f]{9,19}")))
        await peer.heard(Compiled)


async def test_where_grammars_cannot_be_prepared_the_process_is_given_up(folder):
    def fail():
        raise StartupError("tiny cannot be served: no token spells a brace")

    async with hosting(folder, EngineConfig(max_num_seqs=2), prepare_grammars=fail) as peer:
        assert (await peer.heard(Died)).reason == "tiny cannot be served: no token spells a brace"
