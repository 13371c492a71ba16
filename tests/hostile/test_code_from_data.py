"""No data becomes code, and only the server's own port is listened on: read off the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("grammars", "engine", "server")

LISTENS = ROOT / "server" / "serve.py"
MODULES = {"pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "yaml"}
FUNCTIONS = {"eval", "exec", "__import__"}
ATTRIBUTES = {("torch", "load"), ("os", "system"), ("numpy", "load"), ("np", "load")}
KEYWORDS = {"trust_remote_code", "shell", "allow_pickle"}
"""Only ever False."""


def faults(source: str, *, may_listen: bool = False) -> list[str]:
    return [fault for node in ast.walk(ast.parse(source)) for fault in faults_of(node, may_listen)]


def faults_of(node: ast.AST, may_listen: bool) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [name.name for name in names if name.name.split(".")[0] in MODULES]
        case ast.ImportFrom(module=str(module)) if module.split(".")[0] in MODULES:
            return [module]
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            return [name]
        case ast.Attribute(value=ast.Name(id=module), attr=name) if (module, name) in ATTRIBUTES:
            return [f"{module}.{name}"]
        case ast.Call(func=ast.Attribute(attr="bind" | "create_server" | "start_server" as name)):
            return [] if may_listen else [name]
        case ast.keyword(arg=str(name), value=value) if name in KEYWORDS:
            is_false = isinstance(value, ast.Constant) and value.value is False
            return [] if is_false else [f"{name}={ast.unparse(value)}"]
        case _:
            return []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import pickle", "pickle"),
        ("from dill import loads", "dill"),
        ("eval(text)", "eval"),
        ("torch.load(path)", "torch.load"),
        ("load(path, trust_remote_code=asked)", "trust_remote_code=asked"),
        ("run(command, shell=True)", "shell=True"),
        ("listener.bind(address)", "bind"),
    ],
)
def test_each_way_is_noticed(source, fault):
    assert faults(source) == [fault]


def test_what_is_harmless_is_none():
    assert faults("model.eval(); load(path, trust_remote_code=False); re.compile(text)") == []
    assert faults("listener.bind(address)", may_listen=True) == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_source_makes_code_of_data_or_opens_another_port(room):
    sources = list((ROOT / room).rglob("*.py"))
    assert sources
    found = {path: faults(path.read_text(), may_listen=path == LISTENS) for path in sources}
    assert {path: names for path, names in found.items() if names} == {}
