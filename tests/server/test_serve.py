"""run_server as a process: it tells its URL, answers, and ends cleanly on a stop signal."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from engine.config import EngineConfig
from server.config import ServerConfig
from server.engine_process.settings import EngineProcessConfig
from server.errors import StartupError
from server.serve import greeting, run_server

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import sys
from contextlib import asynccontextmanager
from pathlib import Path
import server.serve
from server.config import ServerConfig
from tests.support.chat_server import make_services

class Loaded:
    engine = None
    services = make_services("hello", pause_after=int(sys.argv[1]) if sys.argv[1:] else None)

    @asynccontextmanager
    async def lifespan(self, app):
        print("engine started", flush=True)
        yield
        print("engine stopped", flush=True)

server.serve.load_server = lambda *arguments, **options: Loaded()
config = ServerConfig(port=0, drain_timeout_s=float(sys.argv[2]) if sys.argv[1:] else 5)
server.serve.run_server(
    Path("tiny"), None, config, None, announce=lambda text: print(text, flush=True)
)
"""
CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}


@contextmanager
def server_process(*arguments: str):
    """A serving process, the lines that it still will print, and its URL."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        lines = iter(process.stdout)
        assert next(lines) == "engine started\n"
        serving = re.fullmatch(
            r"Serving tiny at (http://127\.0\.0\.1:\d+)/v1\. Try:\n", next(lines)
        )
        assert serving is not None
        assert next(lines).startswith(f"curl {serving[1]}/v1/chat/completions -H ")
        yield process, lines, serving[1]
    finally:
        process.kill()
        process.communicate()


def test_a_server_process_tells_its_url_answers_and_ends_on_sigterm():
    with server_process() as (process, lines, url):
        answer = httpx.post(f"{url}/v1/chat/completions", json=CHAT, timeout=60)
        assert answer.json()["choices"][0]["message"]["content"] == "hello"
        assert "server" not in answer.headers
        process.send_signal(signal.SIGTERM)
        assert next(lines) == "engine stopped\n"
        assert process.wait(30) == 0


def test_while_it_drains_it_says_so_and_ends_when_the_last_answer_has():
    with (
        server_process("2", "60") as (process, _, url),
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        with client.stream("POST", "/v1/chat/completions", json=CHAT | {"stream": True}) as answer:
            lines = answer.iter_lines()  # held: one that is collected closes the answer
            next(lines)
            process.send_signal(signal.SIGTERM)
            ready = client.get("/ready")
            while ready.status_code == 200:
                ready = client.get("/ready")
            assert ready.status_code == 503
            assert "retry-after" in ready.headers
            refused = client.post("/v1/chat/completions", json=CHAT)
            assert refused.status_code == 503
            assert "shutting down" in refused.json()["error"]["message"]
            assert client.get("/health").status_code == 200
        assert process.wait(30) == 0


@pytest.mark.parametrize("drain_timeout_s", ["0.2", "60"])
def test_neither_a_slow_answer_nor_patience_keeps_it_from_ending(drain_timeout_s):
    with (
        server_process("2", drain_timeout_s) as (process, _, url),
        httpx.Client(base_url=url, timeout=60) as client,
        client.stream("POST", "/v1/chat/completions", json=CHAT | {"stream": True}) as answer,
    ):
        lines = answer.iter_lines()  # held: one that is collected closes the answer
        next(lines)
        process.send_signal(signal.SIGTERM)
        if drain_timeout_s == "60":
            while client.get("/ready").status_code == 200:
                pass
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8001"),
        ("0.0.0.0", "http://127.0.0.1:8001"),
        ("::", "http://[::1]:8001"),
        ("fe80::2", "http://[fe80::2]:8001"),
    ],
)
def test_the_line_to_paste_reaches_the_server_whatever_it_listens_on(host, url):
    first, command = greeting(host, 8001, "it's me", needs_key=False).splitlines()
    assert first == f"Serving it's me at {url}/v1. Try:"
    words = shlex.split(command)
    assert words[:2] == ["curl", f"{url}/v1/chat/completions"]
    assert json.loads(words[-1])["model"] == "it's me"
    assert "authorization" not in command


def test_the_line_to_paste_has_a_place_for_the_key_where_one_is_needed():
    first, command = greeting("127.0.0.1", 8001, "m", needs_key=True).splitlines()
    assert first.endswith("Try, with one of your keys for KEY:")
    assert "authorization: Bearer KEY" in shlex.split(command)


def test_an_address_that_is_taken_is_told_before_the_model_is_loaded(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        config = ServerConfig(port=port)
        with pytest.raises(StartupError) as caught:
            run_server(
                tmp_path / "no-model",
                EngineConfig(),
                config,
                EngineProcessConfig(),
                announce=pytest.fail,
            )
    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1, port {port}: Address already in use; choose another --host "
        "or --port (0 finds a free one)"
    )
