"""Servers for hostile clients, and the ordinary request that must be answered behind each."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from server.config import ServerConfig, hash_api_key
from tests.support.chat_server import MODEL, make_services, running
from tests.support.fresh_http import HTTP
from tests.support.hostile_tally import ORDINARY_BEHIND
from tests.support.serving_process import ServingProcess, serving_process
from tests.support.tiny_folder import write_tiny_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

CHAT = "/v1/chat/completions"
KEY = "zq-secret-zq"
ORDINARY = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
PATIENCE_S = 60.0
"""Ends a test that has failed. What is promised in seconds is told in the tally, not judged here: a
machine that runs several suites at once is slower."""

HEADER_TIMEOUT_S = 1.0
BODY_TIMEOUT_S = 1.0


_BUSY = (
    "tightrope:http_requests_running",
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
)
"""The engine's are told by its heartbeat, so a 0 may be a moment old."""


@dataclass(frozen=True)
class Target:
    """A server under attack.

    Args:
        url: base URL.
        key: the API key that it wants; None: none.
        process: its processes; None: it is a thread of ours around a scripted engine.
    """

    url: str
    key: str | None = None
    process: ServingProcess | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.key is None else {"authorization": f"Bearer {self.key}"}

    def answer_ordinary(self) -> float:
        """Send an ordinary request; the seconds that its answer took."""
        began = time.perf_counter()
        answer = HTTP.post(
            f"{self.url}{CHAT}", json=ORDINARY, headers=self.headers, timeout=PATIENCE_S
        )
        assert answer.status_code == 200, answer.text
        return time.perf_counter() - began

    def gauge(self, name: str) -> float:
        """A metric of this moment."""
        text = HTTP.get(f"{self.url}/metrics", headers=self.headers, timeout=PATIENCE_S).text
        lines = text.splitlines()
        (line,) = [line for line in lines if line.startswith((f"{name}{{", f"{name} "))]
        return float(line.rpartition(" ")[2])

    def until_idle(self, limit_s: float = PATIENCE_S) -> None:
        """Wait until nothing is answered, runs or waits, and every block of the cache is free."""
        deadline = time.monotonic() + limit_s
        while any(map(self.gauge, _BUSY)):
            assert time.monotonic() < deadline, "sequences are left behind"
            time.sleep(0.02)


@pytest.fixture
def ordinary_behind(record_property) -> Any:
    """Within it a case runs; behind it an ordinary request is answered by the same processes."""

    @contextmanager
    def behind(target: Target) -> Iterator[None]:
        pids = None if target.process is None else target.process.pids
        yield
        record_property(ORDINARY_BEHIND, target.answer_ordinary())
        assert pids == (None if target.process is None else target.process.pids)

    return behind


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("hostile") / "tiny-model", context_len=40_000)


@contextmanager
def serving(kind: str, folder: Any, *texts: str | None, key: str | None = None) -> Iterator[Target]:
    """A server of this kind: "scripted" (a thread of ours) or "processes" (as users start it)."""
    if kind == "processes":
        options = ("--header-timeout-s", "1", "--body-timeout-s", "1", "--max-num-seqs", "16")
        keys = {} if key is None else {"TIGHTROPE_API_KEY": key}
        with serving_process(folder, *options, variables=keys) as process:
            yield Target(process.url, key, process)
        return
    config = ServerConfig(header_timeout_s=HEADER_TIMEOUT_S, body_timeout_s=BODY_TIMEOUT_S)
    if key is not None:
        config = replace(config, api_key_hashes=(hash_api_key(key),))
    services = make_services(*(texts or (None,)), max_model_len=40_000, config=config)
    with running(services) as url:
        yield Target(url, key)


SERVERS = ["scripted", pytest.param("processes", marks=pytest.mark.hostile)]


@pytest.fixture(scope="session", params=SERVERS)
def target(request, tiny_folder):
    with serving(request.param, tiny_folder) as served:
        yield served


@pytest.fixture(scope="session", params=SERVERS)
def guarded(request, tiny_folder):
    """The same with a key."""
    with serving(request.param, tiny_folder, key=KEY) as served:
        yield served
