"""The Dockerfile makes the image that the docs promise."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from server.health_check import DEFAULT_PORT

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def instructions():
    """(keyword, rest) of every instruction, continued lines joined."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def rest_of(instructions, keyword):
    return [rest for word, rest in instructions if word == keyword]


def test_it_builds_on_a_release_of_cuda(instructions):
    (base,) = rest_of(instructions, "FROM")
    assert re.fullmatch(r"nvidia/cuda:\d+\.\d+\.\d+-base-ubuntu\d+\.\d+", base)


def test_the_server_runs_as_a_user_without_rights(instructions):
    (user,) = rest_of(instructions, "USER")
    assert int(user) > 0  # a number, so that an orchestrator can check it
    words = [word for word, _ in instructions]
    assert words.index("USER") < words.index("ENTRYPOINT")


def test_the_dependencies_are_installed_before_any_code_is_copied(instructions):
    words = [f"{word} {rest}" for word, rest in instructions]
    installs = next(i for i, line in enumerate(words) if '".[' in line)
    copied = {name for line in words[:installs] if line.startswith("COPY") for name in line.split()}
    assert copied == {"COPY", "pyproject.toml", "LICENSE", "./"}


def test_the_kernels_are_compiled_by_the_user_who_runs_them(instructions):
    variables = dict(
        pair.split("=", 1) for line in rest_of(instructions, "ENV") for pair in line.split()
    )
    owned = next(rest for rest in rest_of(instructions, "RUN") if "install --directory" in rest)
    assert variables["NUMBA_CACHE_DIR"] in owned.split()
    user = [word for word, _ in instructions].index("USER")
    assert ("RUN", "python -m server.kernels") in instructions[user:]


def test_weights_are_in_the_volume(instructions):
    (volume,) = rest_of(instructions, "VOLUME")
    variables = dict(
        pair.split("=", 1) for line in rest_of(instructions, "ENV") for pair in line.split()
    )
    assert variables["TIGHTROPE_CACHE"].startswith(f"{volume}/")
    assert variables["HF_HOME"].startswith(f"{volume}/")


def test_its_health_is_what_the_server_says(instructions):
    (check,) = rest_of(instructions, "HEALTHCHECK")
    options, command = check.split("CMD", 1)
    assert json.loads(command) == ["python", "-m", "server.health_check"]
    (entrypoint,) = rest_of(instructions, "ENTRYPOINT")
    assert f"--port {DEFAULT_PORT}" in " ".join(json.loads(entrypoint))
    assert "--start-period=" in options  # the first start downloads weights


def test_it_is_tightrope_serve_with_any_model_and_options(instructions):
    (entrypoint,) = rest_of(instructions, "ENTRYPOINT")
    assert json.loads(entrypoint)[:2] == ["tightrope", "serve"]
    (command,) = rest_of(instructions, "CMD")
    assert json.loads(command) == ["smollm2-135m"]


def test_it_copies_every_package_and_nothing_that_is_not_there(instructions):
    copied = {name for rest in rest_of(instructions, "COPY") for name in rest.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {package.removesuffix("*") for package in packages} <= copied
    assert {project["project"]["readme"], *project["project"]["license-files"]} <= copied


def test_the_build_context_holds_what_is_copied(instructions):
    copied = {name for rest in rest_of(instructions, "COPY") for name in rest.split()[:-1]}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    assert {line[1:] for line in ignored if line.startswith("!")} == copied
