"""What `pip install` brings: everything that the rooms import, and their types."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ROOMS = ("grammars", "engine", "server", "benchmarks")
BROUGHT_BY = {"pydantic_core": "pydantic", "starlette": "fastapi", "triton": "torch"}
"""Imported from what another package brings and shows in its own interface."""
OPTIONAL = {"bitsandbytes"}
"""Looked for when they are used, and refused with a message where they are absent."""


def declared(*extras: str) -> set[str]:
    wanted = list(PROJECT["dependencies"])
    for extra in extras:
        wanted += PROJECT["optional-dependencies"][extra]
    return {re.split(r"[\[<>=;]", name, maxsplit=1)[0].lower() for name in wanted}


def imported(room: str) -> set[str]:
    names: set[str] = set()
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - set(ROOMS) - OPTIONAL


@pytest.mark.parametrize("room", ROOMS)
def test_all_that_a_room_imports_is_declared(room: str) -> None:
    extras = ("backends", "bench", "peers") if room == "benchmarks" else ()
    distributions = packages_distributions()
    missing = []
    for name in sorted(imported(room)):
        brings = {BROUGHT_BY.get(name, name).lower(), *map(str.lower, distributions.get(name, []))}
        names = {each.replace("_", "-") for each in brings}
        if not names & declared(*extras):
            missing.append(name)
    # lm-format-enforcer's package is called otherwise, and is not installed here.
    assert set(missing) <= {"lmformatenforcer"}


@pytest.mark.parametrize("room", ROOMS)
def test_types_are_installed(room: str) -> None:
    assert (ROOT / room / "py.typed").is_file()
