"""The table names every kernel that a server calls, with the types that it calls it with."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from server.kernels.table import KERNELS

# In a process of its own: other tests would have loaded the kernels already.
SCRIPT = """
import sys
from importlib import import_module
from pathlib import Path

import httpx
from numba.core.dispatcher import Dispatcher

from grammars.automata.compiling import kernels_announced
from server.kernels.precompile import compiling_kernels
from server.kernels.table import KERNELS, find_missing, parse_types
from tests.support.tiny_server import tiny_server

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^(?=.*a)[a-f]{2,5}$"},
        "kind": {"enum": ["one", "two", 3]},
        "size": {"type": "integer", "minimum": -7, "maximum": 99, "multipleOf": 3},
        "when": {"type": "string", "format": "date"},
        "more": {"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 2},
    },
    "required": ["name", "size"],
    "additionalProperties": False,
}
CONSTRAINTS = [
    {},
    {"structured_outputs": {"choice": ["red", "green"]}},
    {"structured_outputs": {"regex": "[a-c]{2,4}"}},
    {"structured_outputs": {"json": {"type": "string", "pattern": "^.{0,99}foo.{0,99}$"}}},
    {"structured_outputs": {"grammar": 'root ::= "a" root "b" | "c"'}},
    {"response_format": {"type": "json_object"}},
    {"response_format": {
        "type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}
    }},
]
SAMPLING = [{"temperature": 0}, {"top_p": 0.5, "seed": 1}, {"logprobs": True, "min_p": 0.1}]

with compiling_kernels(KERNELS, lambda line: None, num_processors=2) as wait:
    wait(KERNELS)
assert not find_missing(KERNELS)
folder = Path(sys.argv[1]) / "tiny"
folder.mkdir()
compiled = []
with kernels_announced(compiled.append), tiny_server(folder) as url:
    for constraint in CONSTRAINTS:
        for sampling in SAMPLING:
            answer = httpx.post(
                url + "/v1/chat/completions",
                json={
                    "model": "tiny", "max_tokens": 24,
                    "messages": [{"role": "user", "content": "a"}],
                    **constraint, **sampling,
                },
                timeout=300,
            )
            assert answer.status_code == 200, answer.text
print("compiled by the server:", compiled)
for module, kernels in KERNELS.items():
    for name, types in kernels.items():
        kernel = getattr(import_module(module), name)
        assert kernel.signatures == [parse_types(types)], (name, kernel.signatures)
print("types agree")
"""


def test_a_server_compiles_no_kernel_that_was_compiled_ahead(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "compiled by the server: []\ntypes agree\n"


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, kernels in KERNELS.items() for name in kernels]
)
def test_a_kernel_lets_other_threads_have_the_interpreter(module, name):
    assert getattr(import_module(module), name).targetoptions["nogil"] is True
