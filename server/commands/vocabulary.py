"""load_vocabulary: the vocabulary of a model folder, without loading the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammars.vocabulary import Vocabulary
from server.models.errors import InvalidModelFileError

if TYPE_CHECKING:
    from pathlib import Path


def load_vocabulary(folder: Path) -> Vocabulary:
    """Tokens from tokenizer.json, padded size and end tokens from the configs.

    Raises:
        InvalidModelFileError: the configs do not say how many rows the output head has, or which
            tokens end a text.
        VocabularyError: the tokenizer cannot be used.
    """
    config = _read_json(folder / "config.json")
    config = {**config, **config.get("text_config", {})}  # of a model that sees and hears, too
    generation_path = folder / "generation_config.json"
    generation = _read_json(generation_path) if generation_path.is_file() else {}
    padded_size = config.get("vocab_size")
    if not isinstance(padded_size, int):
        raise InvalidModelFileError(folder / "config.json", "no vocab_size")
    end_token_ids = {
        *_token_ids(generation.get("eos_token_id")),
        *_token_ids(config.get("eos_token_id")),
    }
    if not end_token_ids:
        raise InvalidModelFileError(folder, "no eos_token_id in its configs")
    return Vocabulary(
        folder / "tokenizer.json", padded_size=padded_size, end_token_ids=end_token_ids
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidModelFileError(path, f"not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidModelFileError(path, "not a JSON object")
    return content


def _token_ids(value: object) -> list[int]:
    """One id, several, or none."""
    ids = value if isinstance(value, list) else [value]
    return [token_id for token_id in ids if isinstance(token_id, int)]
