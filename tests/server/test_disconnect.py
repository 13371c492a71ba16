"""A client that goes away frees what was done for it, at every stage (B086)."""

from __future__ import annotations

import json
import socket
import threading
import time
from dataclasses import replace

import pytest

from server.grammar_compiler import GrammarCompiler
from tests.support.chat_server import MODEL, make_services, running

BODY = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}


def send_request(url: str, body: dict[str, object]) -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    wire = socket.create_connection((host, int(port)), timeout=20)
    data = json.dumps(body).encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    wire.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    return wire


def wait_until(condition) -> None:
    """Wait for another thread to get there; the limit only ends a test that has failed."""
    give_up = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.005)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("pause_after", [0, 2], ids=["queued", "generating"])
def test_b086_the_engine_stops_when_the_client_goes(stream, n, pause_after):
    services = make_services("hello", pause_after=pause_after)
    engine = services.engine
    with running(services) as url:
        wire = send_request(url, BODY | {"stream": stream, "n": n})
        wait_until(lambda: len(engine.requests) == n)
        assert engine.aborted == []
        wire.close()
        wait_until(lambda: len(engine.aborted) == n)
    assert {request.request_id for request in engine.requests} == set(engine.aborted)


def test_a_client_that_goes_while_its_grammar_compiles_never_reaches_the_engine():
    services = make_services("hello")
    is_compiling, may_go_on = threading.Event(), threading.Event()

    def slow_compile(_spec):
        is_compiling.set()
        assert may_go_on.wait(20)

    compiler = GrammarCompiler(slow_compile, max_concurrent=1, max_waiting=8)
    services = replace(services, compiler=compiler)
    with running(services) as url:
        wire = send_request(url, BODY | {"response_format": {"type": "json_object"}})
        assert is_compiling.wait(20)
        wire.close()
        wait_until(lambda: compiler._num_pending == 0)
        may_go_on.set()
    assert services.engine.requests == []
