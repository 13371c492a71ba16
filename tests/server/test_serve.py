"""run_server as a process: it tells its URL, answers, and ends cleanly on a stop signal."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
from contextlib import asynccontextmanager
from pathlib import Path
import server.serve
from server.config import ServerConfig
from tests.support.chat_server import make_services

class Loaded:
    services = make_services("hello")

    @asynccontextmanager
    async def lifespan(self, app):
        print("engine started", flush=True)
        yield
        print("engine stopped", flush=True)

server.serve.load_server = lambda *arguments, **options: Loaded()
config = ServerConfig(port=0, drain_timeout_s=5)
server.serve.run_server(Path("tiny"), None, config, announce=lambda text: print(text, flush=True))
"""


def test_a_server_process_tells_its_url_answers_and_ends_on_sigterm():
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, stdout=subprocess.PIPE, text=True
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
        body = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}
        answer = httpx.post(f"{serving[1]}/v1/chat/completions", json=body, timeout=60)
        assert answer.json()["choices"][0]["message"]["content"] == "hello"
        assert "server" not in answer.headers
        process.send_signal(signal.SIGTERM)
        assert next(lines) == "engine stopped\n"
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()
