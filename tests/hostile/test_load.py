"""Load, signals and processes that die: whole servers, two processes each, as users start them."""

from __future__ import annotations

import concurrent.futures
import json
import random
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest

from tests.hostile.conftest import CHAT, KEY, ORDINARY, Target
from tests.support.hostile_cases import expand, shared_entries
from tests.support.serving_process import ServingProcess, serving_process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

pytestmark = pytest.mark.timeout(900)  # of which the start of a server may take minutes

MARKER = "zq-secret-zq"
STREAM = ORDINARY | {"stream": True, "max_tokens": 4000, "ignore_eos": True}
NUM_SLOTS = 4
NUM_QUEUED = 4
OPTIONS = (
    *("--max-num-seqs", str(NUM_SLOTS), "--max-waiting-requests", str(NUM_QUEUED)),
    *("--engine-silence-s", "3", "--engine-heartbeat-s", "0.2", "--drain-timeout-s", "2"),
    *("--max-requests-per-key", "6"),
)


@pytest.fixture
def server(tiny_folder) -> Iterator[ServingProcess]:
    """A fresh server for tests that end it, or something of it."""
    with serving_process(tiny_folder, *OPTIONS) as process:
        yield process


@pytest.fixture(scope="module")
def target(tiny_folder):
    """A server for tests that leave it as it was."""
    with serving_process(tiny_folder, *OPTIONS) as process:
        yield Target(process.url, None, process)


def chat(url: str, body: dict[str, Any], key: str | None = None) -> httpx.Response:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return httpx.post(f"{url}{CHAT}", json=body, headers=headers, timeout=120)


class Stream(threading.Thread):
    """A client that reads one stream to its end."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self.lines: list[str] = []
        self.has_begun = threading.Event()
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            with httpx.stream("POST", f"{self._url}{CHAT}", json=STREAM, timeout=120) as answer:
                for line in answer.iter_lines():
                    if line:
                        self.lines.append(line)
                    if len(self.lines) > 3:
                        self.has_begun.set()
        except httpx.HTTPError as error:
            self.error = error
        self.has_begun.set()

    @property
    def ended_with_error_event(self) -> bool:
        return '{"error":' in self.lines[-1]


@contextmanager
def streams(url: str, count: int) -> Iterator[list[Stream]]:
    """So many streams, all begun."""
    running = [Stream(url) for _ in range(count)]
    for stream in running:
        assert stream.has_begun.wait(60)
    yield running


@pytest.mark.covers("l-sigkill-worker")
def test_a_killed_engine_ends_its_streams_with_an_error_and_is_replaced(server):
    with streams(server.url, 3) as running:
        victim = server.engine.pid
        server.engine.kill()
        for stream in running:
            stream.join(30)
            assert stream.ended_with_error_event
    refused = chat(server.url, ORDINARY)
    if refused.status_code != 200:
        assert refused.status_code == 503
        assert "retry-after" in refused.headers
    wait_until_ready(server)
    Target(server.url, None, server).answer_ordinary()
    assert server.engine.pid != victim


@pytest.mark.covers("l-engine-hang")
@pytest.mark.hostile
def test_a_hung_engine_is_found_out_and_replaced(server):
    with streams(server.url, 2) as running:
        server.engine.send_signal(signal.SIGSTOP)
        for stream in running:
            stream.join(60)
            assert stream.ended_with_error_event
    wait_until_ready(server)
    Target(server.url, None, server).answer_ordinary()


def wait_until_ready(server: ServingProcess) -> None:
    deadline = time.monotonic() + 120
    while httpx.get(f"{server.url}/ready", timeout=30).status_code != 200:
        assert time.monotonic() < deadline, server.log
        time.sleep(0.1)


@pytest.mark.covers("l-sigterm")
@pytest.mark.hostile
def test_a_stop_signal_lets_streams_go_on_for_the_time_of_grace_and_exits_with_0(server):
    with streams(server.url, NUM_SLOTS) as running:
        server.process.send_signal(signal.SIGTERM)
        answer = httpx.get(f"{server.url}/ready", timeout=30)
        while answer.status_code == 200:
            answer = httpx.get(f"{server.url}/ready", timeout=30)
        assert answer.status_code == 503
        assert "retry-after" in chat(server.url, ORDINARY).headers
        assert server.process.wait(60) == 0
        for stream in running:
            stream.join(30)
            assert not stream.is_alive()


@pytest.mark.covers("l-sigterm-twice")
@pytest.mark.hostile
def test_a_second_stop_signal_ends_it_at_once(server):
    with streams(server.url, NUM_SLOTS):
        server.process.send_signal(signal.SIGTERM)
        while httpx.get(f"{server.url}/ready", timeout=30).status_code == 200:
            pass
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0


@pytest.mark.covers("l-overflow")
def test_what_is_too_much_is_shed_at_once_and_the_rest_is_answered(target, ordinary_behind):
    count = 4 * (NUM_SLOTS + NUM_QUEUED)
    body = ORDINARY | {"max_tokens": 200, "ignore_eos": True}
    with ordinary_behind(target), concurrent.futures.ThreadPoolExecutor(count) as threads:
        answers = list(threads.map(lambda _: chat(target.url, body), range(count)))
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {200, 429}
    assert statuses.count(200) >= NUM_SLOTS + NUM_QUEUED
    shed = [answer for answer in answers if answer.status_code == 429]
    assert all("retry-after" in answer.headers for answer in shed)
    assert f"max_waiting_requests={NUM_QUEUED}" in shed[0].json()["error"]["message"]


@pytest.mark.covers("l-cancel-storm")
@pytest.mark.hostile
def test_500_clients_that_go_leave_nothing_behind(target, ordinary_behind):
    target.answer_ordinary()
    before_mb = target.process.rss_mb
    chance = random.Random(0)

    def drop(delay_s: float) -> None:
        with suppress(httpx.TimeoutException):
            chat_with_patience(target.url, delay_s)

    with ordinary_behind(target), concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(drop, [chance.uniform(0.001, 0.05) for _ in range(500)]))
        target.until_idle()
    assert target.process.rss_mb - before_mb < 64


def chat_with_patience(url: str, patience_s: float) -> None:
    httpx.post(f"{url}{CHAT}", json=STREAM | {"stream": False}, timeout=patience_s)


@pytest.mark.covers("l-unique-schemas-5k")
@pytest.mark.hostile
def test_5000_schemas_do_not_fill_the_memory(target, ordinary_behind):
    def send(number: int) -> int:
        name = f"k{number}"
        schema = {
            "type": "object",
            "properties": {name: {"type": "integer"}},
            "required": [name],
            "additionalProperties": False,
        }
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        answer = chat(target.url, ORDINARY | {"response_format": form, "max_tokens": 1})
        return answer.status_code

    with ordinary_behind(target), concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert set(threads.map(send, range(200))) == {200}
        before_mb = target.process.rss_mb
        assert set(threads.map(send, range(200, 5200))) == {200}
        assert target.process.rss_mb - before_mb < 256


@pytest.mark.covers("l-slow-compile-beside-streams")
@pytest.mark.hostile
def test_a_slow_compile_does_not_slow_the_streams_beside_it(target, ordinary_behind):
    (entry,) = [entry for entry in shared_entries("schema") if entry["id"] == "s-enum-100k"] or [
        pytest.skip("the shared data is not beside the repository")
    ]
    schema = {"name": "x", "schema": json.loads(expand(entry))}
    form = {"response_format": {"type": "json_schema", "json_schema": schema}}
    with ordinary_behind(target), streams(target.url, 3) as running:
        counts = [len(stream.lines) for stream in running]
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            answer: Future[httpx.Response] = threads.submit(chat, target.url, ORDINARY | form)
            answer.result(60)
        assert all(
            len(stream.lines) > before or not stream.is_alive()
            for stream, before in zip(running, counts, strict=True)
        )
        for stream in running:
            stream.join(120)


@pytest.mark.covers("l-log-secrets", "l-rate-limit", "l-fair-queue")
@pytest.mark.hostile
def test_keys_are_kept_apart_and_neither_they_nor_prompts_are_logged(tiny_folder):
    with serving_process(tiny_folder, *OPTIONS, variables={"TIGHTROPE_API_KEY": KEY}) as server:
        said = ORDINARY | {"messages": [{"role": "user", "content": MARKER}], "seed": "wrong"}
        assert chat(server.url, said, KEY).status_code == 400
        assert chat(server.url, said | {"seed": 1}, KEY).status_code == 200
        assert chat(server.url, said, f"{MARKER}-wrong").status_code == 401
        body = ORDINARY | {"max_tokens": 300, "ignore_eos": True}
        with concurrent.futures.ThreadPoolExecutor(20) as threads:
            answers = list(threads.map(lambda _: chat(server.url, body, KEY), range(20)))
        shed = [answer for answer in answers if answer.status_code == 429]
        assert shed
        assert any("max_requests_per_key=6" in answer.text for answer in shed)
        Target(server.url, KEY, server).answer_ordinary()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
    assert MARKER not in "".join(server.log)


@pytest.mark.covers("l-fd-exhaustion", "l-disk-full")
@pytest.mark.hostile
def test_no_free_descriptors_and_no_place_to_write_are_survived(tiny_folder, ordinary_behind):
    nowhere = {"XDG_CACHE_HOME": "/dev/null/none", "TMPDIR": "/dev/null/none"}
    with serving_process(tiny_folder, *OPTIONS, variables=nowhere) as server:
        target = Target(server.url, None, server)
        target.answer_ordinary()
        engine = server.engine
        _limit_descriptors(server.process.pid)
        with ordinary_behind(target):
            held = [httpx.Client(base_url=server.url, timeout=2) for _ in range(40)]
            for client in held:
                try:
                    client.get("/health")
                except httpx.HTTPError:
                    break  # nothing is accepted any more
            else:
                pytest.fail("the limit was not reached")
            for client in held:
                client.close()
            time.sleep(1.5)  # asyncio waits a second before it accepts again
        assert server.engine.pid == engine.pid


def _limit_descriptors(pid: int) -> None:
    """Leave a process ten more descriptors than it has open."""
    process = psutil.Process(pid)
    limit = process.num_fds() + 10
    process.rlimit(psutil.RLIMIT_NOFILE, (limit, limit))
