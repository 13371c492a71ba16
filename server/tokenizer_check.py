"""check_tokenizer_json: what a tokenizer.json claims, before the tokenizers library believes it.

The library makes room for the largest id, fills texts up to any length and replaces a letter by a
megabyte; with two tokens of one id, what a grammar allows would not be what is written.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from server.errors import StartupError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_FILE_BYTES: Final = 64 * 2**20
"""Of a tokenizer.json; the largest real ones have 35 MB."""

MAX_TOKEN_ID: Final = 2**22 - 1
"""The largest real vocabularies have 262,144 tokens."""

MAX_GROWTH: Final = 64
"""How many characters the normalizer may make of one."""

MAX_SPECIAL_TOKENS: Final = 64
"""How many tokens the post-processor may put around a text."""


def check_tokenizer_json(path: Path) -> None:
    """Check the numbers that decide how much is made of them.

    Parts that are malformed in another way are left to the library, which tells of them.

    Raises:
        StartupError: it is too large, is no JSON, or claims what no tokenizer needs.
    """
    num_bytes = path.stat().st_size if path.is_file() else 0
    if num_bytes > MAX_FILE_BYTES:
        raise _refusal(path, f"it has {num_bytes} bytes, at most {MAX_FILE_BYTES} are read")
    if num_bytes == 0:
        return  # the library says what is missing
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _refusal(path, f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise _refusal(path, "not a JSON object")
    _check_ids(path, document)
    growth = _growth(document.get("normalizer"))
    if growth > MAX_GROWTH:
        raise _refusal(
            path,
            f"its normalizer makes up to {growth:.0f} characters of one; {MAX_GROWTH} are allowed",
        )
    num_special = _num_special_tokens(document.get("post_processor"))
    if num_special > MAX_SPECIAL_TOKENS:
        raise _refusal(
            path,
            f"its post-processor puts {num_special} tokens around a text; {MAX_SPECIAL_TOKENS} are "
            "allowed",
        )


def _check_ids(path: Path, document: dict[str, Any]) -> None:
    text_of: dict[int, str] = {}
    for text, token_id in _tokens(document):
        if type(token_id) is not int:
            continue
        if not 0 <= token_id <= MAX_TOKEN_ID:
            raise _refusal(
                path, f"the token {text[:64]!r} has the id {token_id}; ids end at {MAX_TOKEN_ID}"
            )
        if text_of.setdefault(token_id, text) != text:
            raise _refusal(
                path,
                f"the id {token_id} is that of two tokens, {text_of[token_id][:64]!r} and "
                f"{text[:64]!r}",
            )


def _tokens(document: dict[str, Any]) -> Iterator[tuple[str, object]]:
    """Spellings and ids; a list of pieces has its places for ids."""
    model, added_tokens = document.get("model"), document.get("added_tokens")
    vocab = model.get("vocab") if isinstance(model, dict) else None
    yield from vocab.items() if isinstance(vocab, dict) else ()
    for added in added_tokens if isinstance(added_tokens, list) else ():
        if isinstance(added, dict) and isinstance(added.get("content"), str):
            yield added["content"], added.get("id")


def _growth(step: object) -> float:
    """At most so many characters come out for each that goes in, beside a few in front."""
    match step:
        case {"type": "Sequence", "normalizers": [*steps]}:
            growth = 1.0
            for inner in steps:
                growth *= _growth(inner)
            return growth
        case {"type": "Replace", "pattern": {"String": str(old)}, "content": str(new)} if old:
            return max(1.0, len(new) / len(old))
        case {"type": "Replace", "content": str(new)}:
            return 1.0 + len(new)  # an expression may find nothing between any two characters
        case {"type": "Prepend", "prepend": str(text)}:
            return max(1.0, float(len(text)))
        case _:
            return 1.0


def _num_special_tokens(step: object) -> int:
    match step:
        case {"type": "Sequence", "processors": [*steps]}:
            return sum(map(_num_special_tokens, steps))
        case {"type": "TemplateProcessing", "single": [*pieces], "special_tokens": dict(special)}:
            return sum(_num_ids(piece, special) for piece in pieces)
        case _:
            return 0


def _num_ids(piece: object, special: dict[str, Any]) -> int:
    match piece:
        case {"SpecialToken": {"id": str(name)}} if isinstance(special.get(name), dict):
            ids = special[name].get("ids")
            return len(ids) if isinstance(ids, list) else 0
        case _:
            return 0


def _refusal(path: Path, reason: str) -> StartupError:
    return StartupError(f"{path.parent.name} has no usable tokenizer: {path.name}: {reason}")
