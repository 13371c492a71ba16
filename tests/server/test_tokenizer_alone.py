"""A server whose engine is another process reads its tokenizer without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from server.errors import StartupError
from server.tokenizer import load_tokenizer
from tests.support.tiny_folder import write_tiny_folder

SCRIPT = """
import sys
from pathlib import Path

from server.tokenizer import load_tokenizer, without_torch

with without_torch():
    tokenizer = load_tokenizer(Path(sys.argv[1]))
assert "torch" not in sys.modules
import torch
with without_torch():
    assert sys.modules["torch"] is torch
print(tokenizer.encode("abc, 12"))
"""


def test_a_tokenizer_is_the_same_without_torch(tmp_path):

    folder = write_tiny_folder(tmp_path / "tiny")
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout == f"{load_tokenizer(folder).encode('abc, 12')}\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tokenizer.json", "[" * 200_000),
        ("tokenizer.json", '{"model": {"vocab": {"a": -1}}}'),
        ("tokenizer_config.json", "[]"),
    ],
)
def test_damaged_files_are_refused_by_name(tmp_path, name, text):
    folder = write_tiny_folder(tmp_path / "tiny")
    (folder / name).write_text(text)
    with pytest.raises(StartupError, match="tiny has no usable tokenizer"):
        load_tokenizer(folder)
