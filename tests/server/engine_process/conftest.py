"""A tiny random model in an engine process of its own."""

from __future__ import annotations

import pytest

from server.models.convert import convert_gguf
from server.models.progress import SilentProgress
from tests.support.tiny_gguf import tiny_model, write_gguf


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny-model")
    source = folder.with_suffix(".gguf")
    write_gguf(source, tiny_model("llama"))
    convert_gguf(source, folder, progress=SilentProgress())
    return folder
