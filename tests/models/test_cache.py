"""A cached model folder is whole or it is made anew."""

from __future__ import annotations

import errno
import json
import threading
from pathlib import Path

import pytest

from server.models.cache import ModelCache, cache_root
from server.models.errors import CacheError


class Builder:
    """Fills a folder with two files and counts how often."""

    def __init__(self, *, text: str = "{}") -> None:
        self.num_builds = 0
        self.text = text

    def __call__(self, folder: Path, scratch: Path) -> None:
        self.num_builds += 1
        (scratch / "download.bin").write_bytes(b"x" * 100)
        (folder / "config.json").write_text(self.text)
        (folder / "model.safetensors").write_bytes(bytes(20 * 1024**2))


@pytest.fixture
def cache(tmp_path):
    return ModelCache(tmp_path)


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({"TIGHTROPE_CACHE": "/data/t", "XDG_CACHE_HOME": "/data/x"}, "/data/t"),
        ({"XDG_CACHE_HOME": "/data/x"}, "/data/x/tightrope"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/tightrope"),  # as the XDG specification says
        ({"TIGHTROPE_CACHE": ""}, "~/.cache/tightrope"),
        ({}, "~/.cache/tightrope"),
    ],
)
def test_the_root_follows_the_environment(environment, root):
    assert cache_root(environment) == Path(root).expanduser()


def test_a_model_is_built_once(cache):
    build = Builder()
    first = cache.get_or_build("m", "v1", build)
    assert cache.get_or_build("m", "v1", build) == first
    assert build.num_builds == 1
    assert (first / "config.json").read_text() == "{}"
    assert cache.names() == ["m"]


def test_another_source_replaces_the_folder(cache):
    cache.get_or_build("m", "v1", Builder(text="old"))
    folder = cache.get_or_build("m", "v2", Builder(text="new"))
    assert (folder / "config.json").read_text() == "new"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "config.json").write_text("[]"),
        lambda folder: (folder / "config.json").unlink(),
        lambda folder: (folder / "model.safetensors").write_bytes(b"short"),
        lambda folder: (folder / "tightrope.json").write_text("{"),
        lambda folder: (folder / "tightrope.json").write_text('{"fingerprint": "v1"}'),
        lambda folder: (folder / "tightrope.json").write_text("[]"),
        lambda folder: (folder / "tightrope.json").unlink(),
    ],
)
def test_a_damaged_folder_is_made_anew(cache, damage):
    build = Builder()
    damage(cache.get_or_build("m", "v1", build))
    folder = cache.get_or_build("m", "v1", build)
    assert build.num_builds == 2
    assert json.loads((folder / "config.json").read_text()) == {}
    assert (folder / "model.safetensors").stat().st_size == 20 * 1024**2


def test_a_failed_build_leaves_nothing_behind(cache, tmp_path):
    def fail(folder: Path, scratch: Path) -> None:
        (folder / "config.json").write_text("half")
        (scratch / "wheel").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cache.get_or_build("m", "v1", fail)
    assert [path.name for path in (tmp_path / "models").iterdir()] == [".m.lock"]
    assert cache.names() == []


def test_what_a_killed_process_left_is_removed(cache, tmp_path):
    leftover = tmp_path / "models/.building-m-abc"
    leftover.mkdir(parents=True)
    (leftover / "part").write_text("x")
    cache.get_or_build("m", "v1", Builder())
    assert not leftover.exists()


def test_those_who_ask_at_the_same_time_wait_for_one_build(cache):
    build = Builder()
    folders: list[Path] = []
    threads = [
        threading.Thread(target=lambda: folders.append(cache.get_or_build("m", "v1", build)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert build.num_builds == 1
    assert len(set(folders)) == 1


def test_a_cache_that_cannot_be_written_says_what_to_do(tmp_path):
    (tmp_path / "models").write_text("a file in the way")
    with pytest.raises(CacheError) as refusal:
        ModelCache(tmp_path).get_or_build("m", "v1", Builder())
    assert str(refusal.value) == (
        f"cannot write the cache folder {tmp_path / 'models'} (File exists); set TIGHTROPE_CACHE "
        "to another folder"
    )


def test_a_full_disk_is_told_with_the_way_out(cache):
    def build(folder: Path, scratch: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(scratch))

    with pytest.raises(CacheError) as refusal:
        cache.get_or_build("m", "v1", build)
    assert str(refusal.value) == (
        f"cannot write the cache folder {cache.models_folder} (No space left on device); set "
        "TIGHTROPE_CACHE to another folder"
    )
    assert cache.names() == []
