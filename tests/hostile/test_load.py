"""Load, signals and processes that die: whole servers, two processes each, as users start them."""

from __future__ import annotations

import concurrent.futures
import itertools
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
from tests.support.fresh_http import HTTP
from tests.support.hostile_cases import expand, shared_entries
from tests.support.hostile_tally import (
    DEATH_TOLD,
    FREED,
    GAP_ALONE,
    GAP_BESIDE,
    GROWN,
    HANG_TOLD,
    REPLACED,
    SECOND_SIGNAL,
    SHED,
)
from tests.support.serving_process import ServingProcess, serving_process

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(3600)  # thousands of requests on a machine with other work

MARKER = "zq-secret-zq"
STREAM = ORDINARY | {"stream": True, "max_tokens": 30_000, "ignore_eos": True}
NUM_STREAMS = 8
NUM_SLOTS = NUM_STREAMS + 1
NUM_QUEUED = 4
OPTIONS = (
    *("--max-num-seqs", str(NUM_SLOTS), "--max-waiting-requests", str(NUM_QUEUED)),
    *("--engine-silence-s", "5", "--engine-heartbeat-s", "0.2", "--drain-timeout-s", "10"),
    *("--compile-timeout-s", "300"),  # of the wall; a machine with other work may need it
)


@pytest.fixture
def server(tiny_folder) -> Iterator[ServingProcess]:
    """A fresh server for tests that end it."""
    with serving_process(tiny_folder, *OPTIONS) as process:
        yield process


@pytest.fixture(scope="module")
def target(tiny_folder):
    """A server that outlives the tests, whatever becomes of its engine."""
    with serving_process(tiny_folder, *OPTIONS) as process:
        yield Target(process.url, None, process)


def chat(url: str, body: dict[str, Any], key: str | None = None) -> httpx.Response:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return HTTP.post(f"{url}{CHAT}", json=body, headers=headers, timeout=600)


class Stream(threading.Thread):
    """A client that reads one stream to its end."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self.lines: list[str] = []
        self.times: list[float] = []
        self.has_begun = threading.Event()
        self._is_left = threading.Event()
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            with HTTP.stream("POST", f"{self._url}{CHAT}", json=STREAM, timeout=120) as answer:
                for line in answer.iter_lines():
                    if self._is_left.is_set():
                        return
                    if line:
                        self.lines.append(line)
                        self.times.append(time.perf_counter())
                    if len(self.lines) > 3:
                        self.has_begun.set()
        except httpx.HTTPError as error:
            self.error = error
        self.has_begun.set()

    def gaps(self, begin: float, end: float) -> list[float]:
        """Seconds between the tokens of a span of time."""
        times = [at for at in self.times if begin <= at <= end]
        return [later - earlier for earlier, later in itertools.pairwise(times)]

    def leave(self) -> None:
        """Go before the end."""
        self._is_left.set()
        self.join(30)

    @property
    def ended_with_error_event(self) -> bool:
        return '{"error":' in self.lines[-1]


@contextmanager
def streams(url: str, count: int) -> Iterator[list[Stream]]:
    """So many streams, all begun; those that still run are left in the end."""
    running = [Stream(url) for _ in range(count)]
    try:
        for stream in running:
            assert stream.has_begun.wait(60)
        yield running
    finally:
        for stream in running:
            stream.leave()


@pytest.fixture
def figure(record_property):
    """Tells the tally the seconds since a moment."""
    return lambda name, began: record_property(name, time.perf_counter() - began)


@pytest.mark.covers("l-sigkill-worker")
def test_a_killed_engine_ends_its_streams_with_an_error_and_is_replaced(target, figure):
    server = target.process
    with streams(server.url, 4) as running:
        victim = server.engine.pid
        server.engine.kill()
        began = time.perf_counter()
        for stream in running:
            stream.join(30)
            assert stream.ended_with_error_event
    figure(DEATH_TOLD, began)
    refused = chat(server.url, ORDINARY)
    if refused.status_code != 200:
        assert refused.status_code == 503
        assert "retry-after" in refused.headers
    wait_until_ready(server)
    target.answer_ordinary()
    figure(REPLACED, began)
    assert server.engine.pid != victim


@pytest.mark.covers("l-engine-hang")
@pytest.mark.hostile
def test_a_hung_engine_is_found_out_and_replaced(target, figure):
    server = target.process
    with streams(server.url, 4) as running:
        server.engine.send_signal(signal.SIGSTOP)
        began = time.perf_counter()
        assert HTTP.get(f"{server.url}/health", timeout=30).status_code == 200
        for stream in running:
            stream.join(60)
            assert stream.ended_with_error_event
    figure(HANG_TOLD, began)
    wait_until_ready(server)
    target.answer_ordinary()


def wait_until_ready(server: ServingProcess) -> None:
    deadline = time.monotonic() + 120
    while HTTP.get(f"{server.url}/ready", timeout=30).status_code != 200:
        assert time.monotonic() < deadline, server.log
        time.sleep(0.1)


@pytest.mark.covers("l-sigterm")
@pytest.mark.hostile
def test_a_stop_signal_lets_streams_go_on_for_the_time_of_grace_and_exits_with_0(server):
    with streams(server.url, NUM_STREAMS) as running:
        server.process.send_signal(signal.SIGTERM)
        answer = HTTP.get(f"{server.url}/ready", timeout=30)
        while answer.status_code == 200:
            answer = HTTP.get(f"{server.url}/ready", timeout=30)
        assert answer.status_code == 503
        assert "retry-after" in chat(server.url, ORDINARY).headers
        assert server.process.wait(60) == 0
        for stream in running:
            stream.join(30)
            assert not stream.is_alive()


@pytest.mark.covers("l-sigterm-twice")
@pytest.mark.hostile
def test_a_second_stop_signal_ends_it_at_once(server, figure):
    with streams(server.url, NUM_STREAMS):
        server.process.send_signal(signal.SIGTERM)
        while HTTP.get(f"{server.url}/ready", timeout=30).status_code == 200:
            pass
        began = time.perf_counter()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
    figure(SECOND_SIGNAL, began)


@pytest.mark.covers("l-overflow")
def test_what_is_too_much_is_shed_at_once_and_the_rest_is_answered(
    target, ordinary_behind, record_property
):
    count = 4 * (NUM_SLOTS + NUM_QUEUED)
    body = ORDINARY | {"max_tokens": 200, "ignore_eos": True}
    with ordinary_behind(target), concurrent.futures.ThreadPoolExecutor(count) as threads:
        answers = list(threads.map(lambda _: chat(target.url, body), range(count)))
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {200, 429}
    assert statuses.count(200) >= NUM_SLOTS + NUM_QUEUED
    shed = [answer for answer in answers if answer.status_code == 429]
    assert all("retry-after" in answer.headers for answer in shed)
    for answer in shed:
        record_property(SHED, answer.elapsed.total_seconds())
    assert f"max_waiting_requests={NUM_QUEUED}" in shed[0].json()["error"]["message"]


@pytest.mark.covers("l-cancel-storm")
@pytest.mark.hostile
def test_500_clients_that_go_leave_nothing_behind(target, ordinary_behind, record_property):
    target.answer_ordinary()
    before_mb = target.process.rss_mb
    chance = random.Random(0)

    def drop(delay_s: float) -> None:
        with suppress(httpx.TimeoutException):
            HTTP.post(f"{target.url}{CHAT}", json=STREAM | {"stream": False}, timeout=delay_s)

    with ordinary_behind(target), concurrent.futures.ThreadPoolExecutor(8) as threads:
        list(threads.map(drop, [chance.uniform(0.001, 0.05) for _ in range(500)]))
        target.until_idle()
    grown_mb = target.process.rss_mb - before_mb
    record_property(GROWN, grown_mb)
    assert grown_mb < 64


@pytest.mark.hostile
def test_500_streams_that_are_left_leave_nothing_behind(
    target, ordinary_behind, record_property, figure
):
    target.answer_ordinary()
    before_mb = target.process.rss_mb

    def leave(number: int) -> None:
        """After so many lines: in the queue, the prompt or the text."""
        with HTTP.stream("POST", f"{target.url}{CHAT}", json=STREAM, timeout=60) as answer:
            for _, _line in zip(range(number % 5), answer.iter_lines(), strict=False):
                pass

    with ordinary_behind(target):
        with concurrent.futures.ThreadPoolExecutor(NUM_SLOTS) as threads:
            list(threads.map(leave, range(500)))
        began = time.perf_counter()
        target.until_idle()
        figure(FREED, began)
    grown_mb = target.process.rss_mb - before_mb
    record_property(GROWN, grown_mb)
    assert grown_mb < 64


@pytest.mark.covers("l-unique-schemas-5k")
@pytest.mark.hostile
def test_5000_schemas_fill_neither_memory_nor_disk(target, ordinary_behind, record_property):
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
        before_mb, before_bytes = target.process.rss_mb, target.process.written_bytes
        assert set(threads.map(send, range(200, 5200))) == {200}
        grown_mb = target.process.rss_mb - before_mb
        assert target.process.written_bytes == before_bytes
    record_property(GROWN, grown_mb)
    assert grown_mb < 256


SLOWEST_COMPILES = ("g-rules-50k", "s-props-2k-required", "r-alternation-20k")
"""Of the shared cases: by the processor time of a compile; what follows it takes long, too."""


@pytest.mark.covers("l-slow-compile-beside-streams")
@pytest.mark.hostile
def test_a_slow_compile_does_not_slow_the_streams_beside_it(
    target, ordinary_behind, record_property
):
    entries = {entry["id"]: entry for entry in shared_entries("schema", "regex", "grammar")}
    if not entries:
        pytest.skip("the shared data is not beside the repository")
    # Written before: the streams are read in this process, too.
    bodies = [json.dumps(constrained_by(entries[name])).encode() for name in SLOWEST_COMPILES]
    headers = {"content-type": "application/json"}
    with ordinary_behind(target), streams(target.url, NUM_STREAMS) as running:
        moments = [time.perf_counter()]
        while len(running[0].gaps(moments[0], time.perf_counter())) < 200:
            time.sleep(0.01)
        moments.append(time.perf_counter())
        for body in bodies:
            answer = HTTP.post(f"{target.url}{CHAT}", content=body, headers=headers, timeout=600)
            assert answer.status_code == 200, answer.text
        moments.append(time.perf_counter())
        for name, begin, end in zip((GAP_ALONE, GAP_BESIDE), moments, moments[1:], strict=False):
            gaps = [gap for stream in running for gap in stream.gaps(begin, end)]
            assert gaps, "the streams stood still"
            for gap in gaps:
                record_property(name, gap)


def constrained_by(entry: dict[str, Any]) -> dict[str, Any]:
    """A request for one token of what a case describes."""
    text, short = expand(entry).decode(), ORDINARY | {"max_tokens": 1}
    if entry["kind"] != "schema":
        return short | {"structured_outputs": {entry["kind"]: text}}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": json.loads(text)}}
    return short | {"response_format": form}


@pytest.mark.covers("l-log-secrets", "l-rate-limit", "l-fair-queue")
@pytest.mark.hostile
def test_keys_take_turns_each_has_its_share_and_neither_they_nor_prompts_are_logged(
    tiny_folder, tmp_path
):
    flood, other = KEY, f"{KEY}-other"
    key_file = tmp_path / "keys"
    key_file.write_text(f"{flood}\n{other}\n")
    limits = ("--max-waiting-requests", "40", "--max-requests-per-key", "30")
    options = (*OPTIONS, *limits, "--api-key-file", str(key_file))
    with serving_process(tiny_folder, *options) as server:
        said = ORDINARY | {"messages": [{"role": "user", "content": MARKER}], "seed": "wrong"}
        assert chat(server.url, said, flood).status_code == 400
        assert chat(server.url, said | {"seed": 1}, flood).status_code == 200
        assert chat(server.url, said, f"{MARKER}-wrong").status_code == 401
        body = ORDINARY | {"max_tokens": 1000, "ignore_eos": True}
        target = Target(server.url, other, server)
        with concurrent.futures.ThreadPoolExecutor(60) as threads:
            flooding = [threads.submit(chat, server.url, body, flood) for _ in range(60)]
            while target.gauge("vllm:num_requests_waiting") < 30 - NUM_SLOTS:
                time.sleep(0.01)
            target.answer_ordinary()
            num_before = sum(done.done() and done.result().is_success for done in flooding)
            answers = [done.result() for done in flooding]
        # Others go on in the meantime, but far from all of those that were there before it.
        assert num_before <= 2 * NUM_SLOTS
        shed = [answer for answer in answers if answer.status_code == 429]
        assert len(shed) >= 20
        assert all("max_requests_per_key=30" in answer.text for answer in shed)
        assert all("retry-after" in answer.headers for answer in shed)
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
            held = [httpx.Client(base_url=server.url, timeout=2, verify=False) for _ in range(40)]
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
