"""Hostile bytes on raw connections: slow, broken, endless, smuggled, or gone in the middle."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.hostile.conftest import HEADER_TIMEOUT_S, KEY, ORDINARY, Target
from tests.support.chat_server import MODEL
from tests.support.fresh_http import HTTP
from tests.support.hostile_cases import expand, shared_entries, shared_params
from tests.support.wire import CHAT, Connection, Heard, run_steps

if TYPE_CHECKING:
    from collections.abc import Callable

PAUSE_S = HEADER_TIMEOUT_S / 20
"""Between bytes sent slowly: as much shorter than in the cases as the server's limits are."""

LONG = json.dumps(ORDINARY | {"stream": True, "max_tokens": 4000})
HEAD = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = f"{HEAD}Transfer-Encoding: chunked\r\n\r\n"

OWN_CASES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "two lengths that differ": (
        [{"send": f"{HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}x"}],
        "400_or_closed",
    ),
    "a length with a sign": ([{"send": f"{HEAD}Content-Length: +2\r\n\r\n{{}}"}], "400_or_closed"),
    "an obsolete folded header": ([{"send": f"{HEAD}X-A: b\r\n c\r\n\r\n"}], "400_or_closed"),
    "a bare line feed in a name": ([{"send": f"{HEAD}X-A\n: b\r\n\r\n"}], "400_or_closed"),
    "a zero byte in a value": ([{"send": f"{HEAD}X-A: \0\r\n\r\n"}], "400_or_closed"),
    "another transfer coding": (
        [{"send": f"{HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"}],
        "400_or_closed",
    ),
    "a chunk of 2^63 - 1 bytes": (
        [{"send": f"{CHUNKED}7FFFFFFFFFFFFFFF\r\n"}],
        "413_before_limit_plus_1mb",
    ),
    "a broken chunk behind a refusal": (
        [
            {"send": f"{CHUNKED.replace('json', 'xml')}1\r\na\r\n"},
            {"wait_s": 0.2},
            {"send": "zz\r\n"},
        ],
        "415_then_closed",
    ),
    "a chunk size of letters": ([{"send": f"{CHUNKED}xyz\r\n"}], "400_or_closed"),
    "a chunk extension without end": (
        [{"send": f"{CHUNKED}1;"}, {"send_repeat": ["a", 300_000]}],
        "400_or_closed",
    ),
    "HTTP/0.9": ([{"send": "GET /health\r\n\r\n"}], "400_or_closed"),
    "HTTP/2 without asking": (
        [{"send": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}],
        "404_or_405_in_error_shape",
    ),
    "an upgrade to a web socket": (
        [
            {
                "send": f"GET {CHAT} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n"
            }
        ],
        "404_or_405_in_error_shape",
    ),
    "a path of 60 kB": (
        [
            {"send": "GET /"},
            {"send_repeat": ["a", 60_000]},
            {"send": " HTTP/1.1\r\nHost: x\r\n\r\n"},
        ],
        "404_or_405_in_error_shape",
    ),
    "gone before the body": (
        [{"send": f"{HEAD}Content-Length: 9\r\n\r\n"}, {"close": "rst"}],
        "gone",
    ),
    "nothing at all": ([{"wait_s": 0}], "closed_or_408_within_30s"),
}


@pytest.fixture(params=list(OWN_CASES), ids=str)
def own_case(request):
    steps, check = OWN_CASES[request.param]
    return {"id": request.param, "steps": steps, "expected": {"check": check}}


def test_our_own_wire_cases_are_survived(own_case, target, ordinary_behind):
    with ordinary_behind(target):
        run_case(own_case, target)


@pytest.mark.parametrize("case", shared_params("wire", without="w-auth"))
def test_the_shared_wire_cases_are_survived(case, target, ordinary_behind):
    with ordinary_behind(target):
        run_case(case, target)


@pytest.mark.parametrize("case", shared_params("wire", only="w-auth"))
def test_the_shared_wire_cases_of_keys_are_survived(case, guarded, ordinary_behind):
    with ordinary_behind(guarded):
        run_case(case, guarded)


def run_case(case: dict[str, Any], target: Target) -> None:
    steps, check = case["steps"], case["expected"]["check"]
    match steps[0]:
        case {"get": paths}:
            heard = [get(target, path) for path in paths]
        case {"connections": count}:
            trickle_on_many(count, steps[1]["send_slowly"], target)
            return
        case {"fill_slots": True}:
            busy = [Connection(target.url, MODEL) for _ in range(16)]
            for connection in busy:
                connection.send_request(LONG, target.headers)
            heard = [run_one(steps[1:], target)]
            for connection in busy:
                connection.abort()
        case _:
            heard = [run_one(steps, target)]
    CHECKS[check](heard, target)


def run_one(steps: list[dict[str, Any]], target: Target) -> Heard:
    connection = Connection(target.url, MODEL)
    try:
        return run_steps(
            steps, connection, headers=target.headers, pause_s=PAUSE_S, send_case=schema_request
        )
    finally:
        connection.close()


def schema_request(name: str) -> str:
    """The body that asks for the schema of another case."""
    (entry,) = [entry for entry in shared_entries("schema") if entry["id"] == name]
    schema = {"name": "x", "schema": json.loads(expand(entry))}
    form = {"response_format": {"type": "json_schema", "json_schema": schema}}
    return json.dumps(ORDINARY | form)


def get(target: Target, path: str) -> Heard:
    connection = Connection(target.url, MODEL)
    connection.send(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    connection.listen(5)
    connection.close()
    return connection.heard


def trickle_on_many(count: int, text: str, target: Target) -> None:
    """Others are answered while so many connections send slowly, and all are closed in the end."""
    connections = [Connection(target.url, MODEL) for _ in range(count)]
    for connection in connections:
        connection.send(text[:5].encode())
    target.answer_ordinary()
    deadline = time.monotonic() + 20
    for connection in connections:
        connection.listen(max(0.01, deadline - time.monotonic()))
        assert connection.heard.was_closed
        connection.close()


def is_error(body: bytes) -> bool:
    answer, _ = json.JSONDecoder().raw_decode(body.decode())  # another answer may follow
    error = answer["error"]
    return set(error) == {"message", "type", "param", "code"}


def refused(*statuses: int, may_close: bool = False) -> Callable[[list[Heard], Target], None]:
    """The answer is an error with one of these, or (if it may) the connection closed without."""

    def check(heard: list[Heard], _target: Target) -> None:
        for one in heard:
            if may_close and not one.data:
                assert one.was_closed
            else:
                assert one.statuses[0] in statuses, one.data[:300]
                assert is_error(one.body)

    return check


def closed_or_408(heard: list[Heard], _target: Target) -> None:
    (one,) = heard
    assert one.was_closed or one.statuses == [408]
    assert one.statuses in ([], [408])


def all_answered(heard: list[Heard], _target: Target) -> None:
    (one,) = heard
    assert one.was_closed or one.statuses
    assert set(one.statuses) <= {200}


def idle_again(_heard: list[Heard], target: Target) -> None:
    target.until_idle()


def bounded_memory(heard: list[Heard], target: Target) -> None:
    """Nothing beside the buffers of sockets is kept for who does not read."""
    if target.process is not None:
        assert target.process.rss_mb < 3000
    target.until_idle()


def same_401_as_wrong_key(heard: list[Heard], target: Target) -> None:
    wrong = HTTP.post(f"{target.url}{CHAT}", headers={"authorization": "Bearer wrong"}, content="")
    (one,) = heard
    assert one.statuses == [401]
    assert json.loads(one.body) == wrong.json()


def no_secrets(heard: list[Heard], _target: Target) -> None:
    statuses = [one.statuses for one in heard]
    assert statuses == [[200], [200], [401], [401], [401]]
    assert not any(KEY.encode() in one.data for one in heard)


def no_500(heard: list[Heard], _target: Target) -> None:
    assert not any(500 in one.statuses for one in heard)


CHECKS: dict[str, Callable[[list[Heard], Target], None]] = {
    "closed_or_408_within_30s": closed_or_408,
    "closed_or_408_within_60s": closed_or_408,
    "answered_or_cancelled_cleanly": all_answered,
    "answered_in_order_or_closed": all_answered,
    "slot_freed_within_1s": idle_again,
    "never_scheduled": idle_again,
    "compile_stopped_or_bounded": idle_again,
    "gone": idle_again,
    "memory_bounded": bounded_memory,
    "closed_without_500_in_log": no_500,
    "400_or_closed": refused(400, may_close=True),
    "400_or_431_or_closed": refused(400, 431, may_close=True),
    "413_before_limit_plus_1mb": refused(413, may_close=True),
    "415_then_closed": refused(415),
    "401_same_body_as_wrong_key": same_401_as_wrong_key,
    "401": refused(401),
    "401_or_431": refused(401, 431),
    "no_secrets_without_key": no_secrets,
    "others_unharmed": idle_again,
    "404_or_405_in_error_shape": refused(404, 405),
}
