"""Clients that send without end, or do not read, hold nothing for longer than the limits say."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import closing, contextmanager

import pytest

from engine.output import RequestOutput
from server.admission import admit
from server.config import ServerConfig
from server.errors import GenerationTimeoutError
from server.generation import Generation
from server.wire.policy import parse_chat_request
from tests.hostile.conftest import ORDINARY
from tests.support.chat_server import MODEL, make_services, running
from tests.support.fresh_http import HTTP
from tests.support.wire import CHAT, Connection

LIMITS = ServerConfig(
    header_timeout_s=30.0,
    body_timeout_s=0.5,
    send_timeout_s=0.5,
    max_body_bytes=100_000,
    max_header_bytes=4_000,
    max_body_chunks=100,
)
PATIENCE_S = 20.0
HEAD = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n"
REFUSED = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
"""Answered with 415 before its body is read."""


@contextmanager
def served(text="ok", **engine_options):
    services = make_services(text, config=LIMITS, max_model_len=400_000, **engine_options)
    with running(services) as url:
        yield services, url


def until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def num_running(url):
    lines = HTTP.get(f"{url}/metrics").text.splitlines()
    (line,) = [line for line in lines if line.startswith("tightrope:http_requests_running ")]
    return float(line.rpartition(" ")[2])


@pytest.mark.parametrize(
    "piece", ["1\r\na\r\n", f"C000\r\n{'a' * 0xC000}\r\n"], ids=["drop", "flood"]
)
def test_who_was_refused_and_goes_on_sending_is_dropped(piece):
    with served() as (_, url), closing(Connection(url, MODEL)) as connection:
        connection.send(REFUSED.encode())
        connection.listen(PATIENCE_S, until=lambda: connection.heard.num_whole == 1)
        assert connection.heard.statuses == [415]

        def is_dropped():
            connection.send(piece.encode())
            return connection.heard.was_closed

        until(is_dropped)


def test_who_takes_nothing_of_an_answer_is_dropped():
    with (
        served("a" * 300_000) as (services, url),
        closing(Connection(url, MODEL, receive_buffer_bytes=4096)) as connection,
    ):
        long = ORDINARY | {"stream": True, "max_tokens": 300_000}
        connection.send_request(json.dumps(long), {})
        until(lambda: services.engine.requests)
        until(lambda: num_running(url) == 0)


def test_who_goes_with_more_behind_a_request_is_noticed():
    with served(pause_after=0) as (services, url), closing(Connection(url, MODEL)) as connection:
        connection.send_request(json.dumps(ORDINARY), {})
        until(lambda: services.engine.requests)
        for _ in range(3):
            connection.send(b"GET /health")
            time.sleep(0.05)
        connection.abort()
        until(lambda: services.engine.aborted)


def test_too_much_behind_a_request_ends_it():
    with served(pause_after=0) as (services, url), closing(Connection(url, MODEL)) as connection:
        connection.send_request(json.dumps(ORDINARY), {})
        until(lambda: services.engine.requests)
        connection.send(b"a" * 5_000)
        until(lambda: services.engine.aborted)
        connection.listen(PATIENCE_S)
        assert connection.heard.was_closed


def test_pipelined_requests_are_answered_in_order():
    with served() as (_, url), closing(Connection(url, MODEL)) as connection:
        connection.send(
            b"GET /nope HTTP/1.1\r\nHost: x\r\n\r\nGET /ready HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        connection.listen(PATIENCE_S, until=lambda: connection.heard.num_whole == 2)
        assert connection.heard.statuses == [404, 200]


def test_a_body_in_crumbs_is_refused():
    with served() as (_, url), closing(Connection(url, MODEL)) as connection:
        connection.send(CHUNKED.encode() + b"1\r\na\r\n" * 101)
        connection.listen(PATIENCE_S)
        assert connection.heard.statuses == [400]
        assert b"more than max_body_chunks=100 chunks" in connection.heard.body
        assert connection.heard.was_closed


def test_a_body_in_as_many_chunks_as_are_allowed_is_read():
    body = json.dumps(ORDINARY).encode()
    with served() as (_, url):
        answer = HTTP.post(
            f"{url}{CHAT}",
            content=iter([body[:40], *(bytes([byte]) for byte in body[40:])]),
            headers={"content-type": "application/json"},
        )
        assert len(body) - 39 <= LIMITS.max_body_chunks
        assert answer.status_code == 200


def test_a_chunk_that_is_none_behind_a_head_is_no_error_of_ours(caplog):
    with served() as (_, url):
        for path in ("/health", "/nope"):
            head = f"GET {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
            with closing(Connection(url, MODEL)) as connection:
                connection.send(head.encode())
                connection.listen(PATIENCE_S)
                assert connection.heard.statuses == [400]
                assert connection.heard.was_closed
    assert "Traceback" not in caplog.text


def test_many_large_bodies_at_once_are_shed_and_leave_no_trace():
    config = ServerConfig(max_total_body_bytes=100_000)
    with running(make_services("ok", config=config)) as url:
        send = f"{HEAD}Content-Length: 70000\r\n\r\n{' ' * 60_000}".encode()
        with closing(Connection(url, MODEL)) as first, closing(Connection(url, MODEL)) as second:
            first.send(send)
            until(lambda: num_running(url) == 1)
            second.send(send)
            second.listen(PATIENCE_S, until=lambda: second.heard.num_whole == 1)
            assert second.heard.statuses == [429]
            assert b"max_total_body_bytes=100000" in second.heard.body
            first.abort()
        until(lambda: num_running(url) == 0)
        for _ in range(3):  # what was counted is given back, also by answers
            large = ORDINARY | {"user": "u", "metadata": {"a": "a" * 60_000}}
            assert HTTP.post(f"{url}{CHAT}", json=large).status_code == 200


async def test_who_reads_drop_by_drop_is_served_no_longer_than_an_answer_may_take():
    services = make_services("ok", config=ServerConfig(generation_timeout_s=0.2))

    async def all_is_there(request):
        while True:  # without a pause, as from the queue of one who has not read
            yield RequestOutput(request.request_id, (97,), ())

    services.engine.generate = all_is_there  # type: ignore[method-assign]
    generation = Generation(await admit(parse_chat_request(ORDINARY), services), services)

    async def read_slowly():
        async for _ in generation.steps():
            await asyncio.sleep(0.01)

    with pytest.raises(GenerationTimeoutError):
        await asyncio.wait_for(read_slowly(), PATIENCE_S)
