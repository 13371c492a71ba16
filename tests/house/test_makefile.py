"""make and CI do what they say, from nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path):
    """A folder with what make itself looks at, and no .venv."""
    for name in ("Makefile", "pyproject.toml", "requirements"):
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    return tmp_path


def make(folder, *arguments):
    run = subprocess.run(
        ["make", "--no-print-directory", "-C", folder, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    return run.stdout


def test_make_alone_lists_the_targets(clone):
    targets = [line.split()[1] for line in make(clone).splitlines()]
    assert targets == [
        *("help", "serve", "test", "coverage", "lint", "check"),
        *("fuzz", "hostile", "test-clients", "bench"),
    ]


@pytest.mark.parametrize("target", ["serve", "test", "check", "fuzz", "hostile", "bench"])
def test_each_target_makes_and_fills_the_environment_first(clone, target):
    plan = make(clone, "--dry-run", target).splitlines()
    creates = next(i for i, line in enumerate(plan) if "-m venv .venv" in line)
    fills = next(i for i, line in enumerate(plan) if "--editable" in line)
    assert creates < fills < len(plan) - 1


def test_a_python_that_is_too_old_is_refused_before_anything_is_made(clone):
    old = clone / "old-python"
    code = (
        "import sys; sys.version_info, sys.version = (3, 9, 2), '3.9.2 (main)'; exec(sys.argv[1])"
    )
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$2"\n')
    old.chmod(0o755)
    run = subprocess.run(
        ["make", "-C", clone, "serve", f"PYTHON={old}"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert run.returncode == 2
    assert "Python 3.11 or newer is needed, not 3.9.2: make PYTHON=/path/to/python" in run.stderr
    assert not (clone / ".venv").exists()


def test_a_filled_environment_is_left_alone_until_the_requirements_change(clone):
    stamp = clone / ".venv/.installed"
    stamp.parent.mkdir()
    stamp.touch()
    assert "pip install" not in make(clone, "--dry-run", "test")
    newer = stamp.stat().st_mtime + 10
    os.utime(clone / "pyproject.toml", (newer, newer))
    assert "pip install" in make(clone, "--dry-run", "test")


@pytest.mark.parametrize(
    ("has_cuda", "is_constrained"), [("exit 0", False), ("exit 1", True)], ids=["cuda", "cpu"]
)
def test_torch_is_held_only_where_there_is_no_cuda(clone, has_cuda, is_constrained):
    tool = clone / "bin/nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{'echo GPU 0' if has_cuda == 'exit 0' else ''}\n{has_cuda}\n")
    tool.chmod(0o755)
    plan = subprocess.run(
        ["make", "-C", clone, "--dry-run", "test"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": f"{tool.parent}:{os.environ['PATH']}"},
    ).stdout
    assert ("constraints-cpu.txt --editable" in plan) is is_constrained


@pytest.mark.parametrize("has_npm", [True, False])
def test_clients_get_environments_of_their_own_and_those_for_node_where_npm_is(clone, has_npm):
    (clone / "tests/clients/node").mkdir(parents=True)
    (clone / "tests/clients/node/package.json").touch()
    tools = clone / "bin"
    tools.mkdir()
    for name in ("make", "sh", "python3", *(["npm"] if has_npm else [])):
        (tools / name).symlink_to(shutil.which(name) or "/bin/true")
    plan = subprocess.run(
        [tools / "make", "-C", clone, "--dry-run", "test-clients"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": str(tools)},
    ).stdout
    for name in ("clients", "clients-instructor"):
        assert f"-m pip install --requirement requirements/{name}.txt" in plan
        assert f".venv-{name}/bin/python -m pytest" in plan
    assert ("npm install" in plan) is has_npm


def test_serve_passes_model_and_options_on(clone):
    plan = make(clone, "--dry-run", "serve", "MODEL=./mine", "ARGS=--port 9000")
    assert plan.splitlines()[-1] == ".venv/bin/tightrope serve ./mine --port 9000"


def test_ci_runs_the_linters_and_the_tests():
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
    commands = script.read_text().splitlines()
    assert "set -euo pipefail" in commands
    assert commands[-2:] == ["make lint", "make test"]
