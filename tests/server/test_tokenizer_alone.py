"""A server whose engine is another process reads its tokenizer without torch."""

from __future__ import annotations

import subprocess
import sys

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
