"""TextEncoder: the canonical tokens of a text, and never a control token."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from grammars.errors import VocabularyError
from grammars.tokenizer_json import parse_tokenizer_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokenizers import Tokenizer


class TextEncoder:
    """The tokenizer's own segmentation of text in the middle of a generation.

    Args:
        source: the tokenizer.json.
        token_bytes: token id -> bytes, of the text tokens.
    """

    def __init__(self, source: bytes, token_bytes: Mapping[int, bytes]) -> None:
        self._token_bytes = token_bytes
        self._tokenizer = _text_only_tokenizer(source)
        # Of equal tokens the last is kept: SentencePiece's <0x41> stands before its "A".
        self._token_of_bytes = {data: token_id for token_id, data in sorted(token_bytes.items())}
        self._longest = max(map(len, self._token_of_bytes))

    def encode(self, data: bytes) -> list[int]:
        """Token ids whose bytes join to `data`.

        Raises:
            VocabularyError: a byte of `data` is spelled by no token (never one of UTF-8 text).
        """
        canonical = self._encode_text(data)
        return self._longest_matches(data) if canonical is None else canonical

    def _encode_text(self, data: bytes) -> list[int] | None:
        """The tokenizer's own tokens; None where they do not spell `data` (say, after NFC)."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        try:
            token_ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        except BaseException as fault:
            if not is_panic(fault):
                raise
            return None  # its expressions look back too often on this text
        spelled = [self._token_bytes.get(token_id) for token_id in token_ids]
        if None in spelled or b"".join(x for x in spelled if x is not None) != data:
            return None
        return token_ids

    def _longest_matches(self, data: bytes) -> list[int]:
        token_ids = []
        position = 0
        while position < len(data):
            for end in range(min(len(data), position + self._longest), position, -1):
                token_id = self._token_of_bytes.get(data[position:end])
                if token_id is not None:
                    token_ids.append(token_id)
                    position = end
                    break
            else:
                raise VocabularyError(f"no token spells the byte 0x{data[position]:02X}")
        return token_ids


def is_panic(fault: BaseException) -> bool:
    """Whether the tokenizers library has given up; Rust's exception can be had in no other way."""
    return type(fault).__name__ == "PanicException"


def _text_only_tokenizer(source: bytes) -> Tokenizer:
    """The tokenizer without added tokens, and without the space that some put in front."""
    from tokenizers import Tokenizer  # heavy, and only forced text needs it

    document = parse_tokenizer_json(source)
    document |= {"added_tokens": [], "truncation": None, "padding": None}
    document |= {"post_processor": None, "decoder": None}
    for part in ("normalizer", "pre_tokenizer"):
        document[part] = _without_prefix_space(document.get(part))
    try:
        return Tokenizer.from_str(json.dumps(document))
    except Exception as error:  # the library raises nothing narrower
        raise VocabularyError(f"the tokenizers library cannot read it: {error}") from error


def _without_prefix_space(step: dict[str, Any] | None) -> dict[str, Any] | None:
    if step is None:
        return None
    match step["type"]:
        case "Sequence":
            (parts,) = step.keys() - {"type"}  # "normalizers" or "pretokenizers"
            kept = [x for x in map(_without_prefix_space, step[parts]) if x is not None]
            return {"type": "Sequence", parts: kept}
        case "Prepend":
            return None
        case "Metaspace":
            return step | {"prepend_scheme": "never", "add_prefix_space": False}
        case "ByteLevel":
            return step | {"add_prefix_space": False, "trim_offsets": False}
        case _:
            return step
