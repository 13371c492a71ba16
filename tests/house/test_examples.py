"""The examples and the README's program run against `tightrope serve` with the built-in model."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.model


def run_python(*arguments, **environment):
    run = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@contextmanager
def started(ready, *arguments):
    """A server in a process of its own, stopped as Ctrl-C would; gives what its line says."""
    command = [sys.executable, "-m", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        lines = []
        for line in server.stderr:
            lines.append(line)
            if found := re.search(ready, line):
                break
        assert found, "".join(lines)
        yield found[1]
        server.send_signal(signal.SIGINT)
        server.stderr.read()  # until it has ended
    assert server.returncode in (0, 130), server.returncode


@pytest.fixture(scope="module")
def base_url(smollm2_folder):
    ready = r"Serving smollm2-135m at (\S+)\. Try:"
    with started(ready, "server.cli", "serve", "smollm2-135m", "--port", "0") as url:
        yield url


def test_the_quickstart_runs(base_url):
    shown = run_python("examples/quickstart.py", OPENAI_BASE_URL=base_url)
    lines = dict(re.findall(r"^([a-z0-9 -]+): +(.*)$", shown, flags=re.MULTILINE))
    assert lines["parsed"].startswith("Person(name='")
    assert set(json.loads(lines["streamed"])) == {
        "city",
        "country_code",
        "population",
        "is_capital",
    }
    assert re.match(r'get_weather \{"city": "[^"]+", "unit": ".+"\} -> \{', lines["tool call"])
    assert lines["second turn"]
    assert lines["call 0"].startswith("get_weather {'city': ")
    assert lines["call 1"].startswith("get_weather {'city': ")


def test_the_readmes_program_runs(base_url):
    (program,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.DOTALL | re.MULTILINE
    )
    address = "http://127.0.0.1:8000/v1"
    assert address in program
    shown = run_python("-c", program.replace(address, base_url))
    assert re.fullmatch(r"name='.*' age=-?\d+\n", shown)


def test_the_logits_processor_example_runs(smollm2_folder):
    shown = run_python("examples/logits_processor.py")
    answers = re.findall(r"^Describe .* (\{'animal': .*, 'num_legs': \d+\})$", shown, re.MULTILINE)
    assert len(answers) == 2


@pytest.mark.parametrize("module", ["examples.agent_loop", "examples.anthropic_loop"])
def test_the_agents_run_to_their_end(base_url, module):
    urls = {"OPENAI_BASE_URL": base_url, "ANTHROPIC_BASE_URL": base_url.removesuffix("/v1")}
    assert run_python("-m", module, "What is 7 * 6?", **urls).strip()


def test_the_mcp_bridge_runs(base_url):
    shown = run_python("-m", "examples.mcp_bridge", OPENAI_BASE_URL=base_url)
    tools, answer = shown.split("\n", 1)
    assert tools == "tools: list_items, take_item"
    assert answer.strip()


def test_the_openapi_tools_run(base_url):
    ready = r"Uvicorn running on (\S+)"
    with started(ready, "examples.openapi_service", "0") as service:
        arguments = ("examples.openapi_tools", "Put milk on the list.", service)
        shown = run_python("-m", *arguments, OPENAI_BASE_URL=base_url)
    tools, answer = shown.split("\n", 1)
    assert tools == "tools: list_tasks, add_task, finish_task"
    assert answer.strip()
