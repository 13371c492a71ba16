"""TokenizerSource: the tokenizer that a benchmark runs with."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grammars.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pathlib import Path


class TokenizerSourceError(Exception):
    """The tokenizer cannot be used as given; `str()` says what to give."""


@dataclass(frozen=True, slots=True)
class TokenizerSource:
    """What a `Vocabulary` is built from.

    Args:
        name: for the report.
        tokenizer_json: content of tokenizer.json.
        padded_size: rows of the model's output layer.
        end_token_ids: ids that end a text.
    """

    name: str
    tokenizer_json: bytes
    padded_size: int
    end_token_ids: tuple[int, ...]

    def vocabulary(self) -> Vocabulary:
        """A new vocabulary of these tokens."""
        return Vocabulary(
            self.tokenizer_json, padded_size=self.padded_size, end_token_ids=self.end_token_ids
        )


def from_file(path: Path, *, padded_size: int | None, end_token: str | None) -> TokenizerSource:
    """A tokenizer.json, or one compressed as tokenizer.json.gz.

    Args:
        path: the file.
        padded_size: rows of the model's output layer; None: the tokenizer's own size.
        end_token: spelling of the end token; None: eos_token of the tokenizer_config.json beside.

    Raises:
        TokenizerSourceError: there is no such file, or no such end token.
    """
    if not path.is_file():
        raise TokenizerSourceError(f"{path} is no file; give a tokenizer.json")
    data = path.read_bytes()
    content = gzip.decompress(data) if path.suffix == ".gz" else data
    ids = _token_ids(json.loads(content))
    spelling = end_token or _configured_end_token(path.parent / "tokenizer_config.json")
    if spelling not in ids:
        raise TokenizerSourceError(
            f"{path} has no end token {spelling!r}; name one with --end-token"
        )
    return TokenizerSource(
        name=path.parent.name,
        tokenizer_json=content,
        padded_size=padded_size or max(ids.values()) + 1,
        end_token_ids=(ids[spelling],),
    )


def _token_ids(tokenizer: dict[str, Any]) -> dict[str, int]:
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    return {**tokenizer["model"]["vocab"], **added}


def _configured_end_token(path: Path) -> str | None:
    if not path.exists():
        return None
    token = json.loads(path.read_text()).get("eos_token")
    spelling: str | None = token["content"] if isinstance(token, dict) else token
    return spelling
