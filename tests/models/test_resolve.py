"""A model is found by built-in name, folder, .gguf file or hub id, in this order."""

from __future__ import annotations

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError, OfflineModeIsEnabled
from transformers import AutoConfig

from server.models import download
from server.models.cache import ModelCache
from server.models.catalog import BUILTIN_MODELS
from server.models.errors import DownloadError, InvalidModelFileError, UnknownModelError
from server.models.resolve import ModelFolder, ModelSource, resolve_model
from tests.support.silent_progress import SilentProgress
from tests.support.tiny_gguf import tiny_model, write_gguf


@pytest.fixture
def resolve(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = ModelCache(tmp_path / "cache")
    return lambda name: resolve_model(name, progress=SilentProgress(), cache=cache)


def make_folder(path, *files):
    path.mkdir()
    for name in files or ("config.json", "tokenizer.json", "model.safetensors"):
        (path / name).write_text("{}")
    return path


def test_a_local_folder_is_used_where_it_is(resolve, tmp_path):
    folder = make_folder(tmp_path / "my-model")
    assert resolve("my-model") == ModelFolder(folder, "my-model", ModelSource.FOLDER)


def test_a_folder_called_like_a_built_in_is_reached_by_a_path(resolve, tmp_path):
    folder = make_folder(tmp_path / "smollm2-135m")
    assert resolve("./smollm2-135m").path == folder


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (["tokenizer.json"], "no config.json; is this a Hugging Face model folder?"),
        (
            ["config.json", "model.safetensors"],
            "no tokenizer.json; is this a Hugging Face model folder?",
        ),
        (
            ["config.json", "tokenizer.json", "pytorch_model.bin"],
            "no *.safetensors weights; other formats are not loaded because they can run code",
        ),
    ],
)
def test_a_folder_that_lacks_a_file_is_refused(resolve, tmp_path, files, reason):
    folder = make_folder(tmp_path / "bad", *files)
    with pytest.raises(InvalidModelFileError) as refusal:
        resolve("bad")
    assert str(refusal.value) == f"{folder}: {reason}"


def test_a_gguf_file_is_converted_once_and_again_when_it_changes(resolve, tmp_path):
    path = tmp_path / "My Model.gguf"
    write_gguf(path, tiny_model("llama"))
    first = resolve(str(path))
    assert (first.name, first.source) == ("My Model", ModelSource.GGUF)
    assert AutoConfig.from_pretrained(first.path).model_type == "llama"
    made_ns = (first.path / "config.json").stat().st_mtime_ns
    assert resolve(str(path)) == first
    assert (first.path / "config.json").stat().st_mtime_ns == made_ns

    write_gguf(path, tiny_model("qwen3"))
    again = resolve(str(path))
    assert again == first
    assert AutoConfig.from_pretrained(again.path).model_type == "qwen3"


def test_two_files_of_one_name_do_not_share_a_folder(resolve, tmp_path):
    for folder, architecture in (("a", "llama"), ("b", "qwen2")):
        (tmp_path / folder).mkdir()
        write_gguf(tmp_path / folder / "m.gguf", tiny_model(architecture))
    assert resolve("a/m.gguf").path != resolve("b/m.gguf").path


def test_a_built_in_is_fetched_and_converted(resolve, monkeypatch):
    def fetch(model, scratch, *, progress):
        assert model is BUILTIN_MODELS["smollm2-135m"]
        path = scratch / "small.gguf"
        write_gguf(path, tiny_model("llama"))
        return path

    monkeypatch.setattr(download, "fetch_gguf", fetch)
    model = resolve("smollm2-135m")
    assert (model.name, model.source) == ("smollm2-135m", ModelSource.BUILTIN)
    assert (model.path / "model.safetensors").is_file()


def test_a_hub_id_is_downloaded_without_pickles_and_copies(resolve, tmp_path, monkeypatch):
    folder = make_folder(tmp_path / "snapshot")
    asked = []

    def snapshot_download(repo_id, **options):
        asked.append((repo_id, options))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert resolve("acme/some-model@v2") == ModelFolder(folder, "acme/some-model", ModelSource.HUB)
    patterns = ["*.safetensors", "*.json", "*.jinja"]
    assert asked == [
        (
            "acme/some-model",
            {"revision": "v2", "allow_patterns": patterns, "ignore_patterns": ["*/*"]},
        )
    ]


@pytest.mark.parametrize(
    "failure", [LocalEntryNotFoundError("no network"), OfflineModeIsEnabled("HF_HUB_OFFLINE=1")]
)
def test_an_unreachable_hub_says_what_to_do(resolve, monkeypatch, failure):
    def snapshot_download(*_, **__):
        raise failure

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    with pytest.raises(DownloadError) as refusal:
        resolve("acme/some-model")
    assert str(refusal.value) == (
        "cannot download acme/some-model: the hub cannot be reached and the model is not in its "
        "cache; check the network and HF_HUB_OFFLINE, or give a local folder or .gguf file"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "smollm2",
            "did you mean 'smollm2-135m'? It is not a built-in name (smollm2-135m, "
            "qwen2.5-coder-0.5b), not a folder or .gguf file here, and not a hub id (owner/name)",
        ),
        (
            "gpt-5",
            "not a built-in name (smollm2-135m, qwen2.5-coder-0.5b), not a folder or .gguf file "
            "here, and not a hub id (owner/name)",
        ),
        ("missing.gguf", "there is no such file"),
        ("./missing", "there is no such folder"),
        (
            "weights.bin",
            "this file is not a .gguf file; give a .gguf file or a Hugging Face model folder",
        ),
    ],
)
def test_an_unknown_name_is_refused_with_a_way_out(resolve, tmp_path, name, reason):
    (tmp_path / "weights.bin").write_bytes(b"")
    with pytest.raises(UnknownModelError) as refusal:
        resolve(name)
    assert str(refusal.value) == f"model {name!r}: {reason}"
