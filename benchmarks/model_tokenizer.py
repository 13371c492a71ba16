"""The tokenizer of a model; apart from `TokenizerSource`, since workers load no server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.tokenizer_source import TokenizerSource, TokenizerSourceError, from_file
from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model

if TYPE_CHECKING:
    import argparse


def read_tokenizer(options: argparse.Namespace) -> TokenizerSource:
    """The tokenizer that the flags name.

    Raises:
        ModelError: the model cannot be found or fetched.
        TokenizerSourceError: the tokenizer has no known end token.
    """
    path = Path(options.tokenizer)
    if path.suffix in (".json", ".gz"):
        return from_file(path, padded_size=options.padded_size, end_token=options.end_token)
    return from_model(options.tokenizer)


def from_model(name: str) -> TokenizerSource:
    """The tokenizer of a model, resolved as `tightrope serve` does.

    Raises:
        ModelError: the model cannot be found or fetched.
        TokenizerSourceError: its configuration names no end token.
    """
    folder = resolve_model(name, progress=TerminalProgress()).path
    config = json.loads((folder / "config.json").read_text())
    generation = folder / "generation_config.json"
    options = json.loads(generation.read_text()) if generation.exists() else {}
    ends = options.get("eos_token_id", config.get("eos_token_id"))
    if ends is None:
        raise TokenizerSourceError(f"{name}: its configuration has no eos_token_id")
    return TokenizerSource(
        name=name,
        tokenizer_json=(folder / "tokenizer.json").read_bytes(),
        padded_size=config["vocab_size"],
        end_token_ids=tuple(ends) if isinstance(ends, list) else (ends,),
    )
