"""What a tokenizer.json says of its tokens: the bytes of each, and which are controls.

Two kinds of tokenizers can be read, since only these can write every text byte by byte:

* byte-level BPE (GPT-2 and most after it): each character of a token is one byte;
* SentencePiece models with byte fallback: `▁` is a space, `<0x0A>` is one byte, the rest is UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from grammars.errors import VocabularyError

Json: TypeAlias = Mapping[str, Any]
"""A parsed JSON object whose layout the tokenizers library defines."""

_BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The tokens of a tokenizer.

    Args:
        token_bytes: token id -> its bytes, for tokens that are text.
        controls: token id -> its spelling, for the others: added tokens, special or not, and
            entries of the model that no text is ever tokenized to (reserved rows).
    """

    token_bytes: dict[int, bytes]
    controls: dict[int, str]


def read_token_table(source: bytes) -> TokenTable:
    """The tokens of a tokenizer.json.

    Raises:
        VocabularyError: it is not a tokenizer.json, or its kind is not one of the two above.
    """
    document = parse_tokenizer_json(source)
    model = document["model"]
    entries = _model_entries(model)
    controls = {int(added["id"]): str(added["content"]) for added in document["added_tokens"]}
    spell = _speller(document.get("decoder"))
    unreachable = _unreachable_texts(model)
    token_bytes: dict[int, bytes] = {}
    for text, token_id in entries.items():
        if token_id in controls:
            continue
        data = spell(text)
        if text in unreachable or not data:
            controls[token_id] = text
        else:
            token_bytes[token_id] = data
    return TokenTable(token_bytes, controls)


def parse_tokenizer_json(source: bytes) -> dict[str, Any]:
    """The parsed document.

    Raises:
        VocabularyError: it is not JSON, or not a tokenizer.json.
    """
    try:
        document = json.loads(source)
    except ValueError as error:
        raise VocabularyError(f"tokenizer.json is not JSON: {error}") from error
    if not isinstance(document, dict) or not {"model", "added_tokens"} <= document.keys():
        raise VocabularyError("tokenizer.json has no 'model' and 'added_tokens'")
    return document


def _model_entries(model: Json) -> dict[str, int]:
    kind = model.get("type")
    for option in ("continuing_subword_prefix", "end_of_word_suffix", "dropout"):
        if model.get(option):
            raise VocabularyError(f"tokenizer model option {option!r} is not supported")
    if kind == "BPE":
        return dict(model["vocab"])
    if kind == "Unigram":
        return {piece: index for index, (piece, _) in enumerate(model["vocab"])}
    raise VocabularyError(
        f"tokenizer model {kind!r} is not supported; byte-level BPE and SentencePiece models "
        "with byte fallback are"
    )


def _unreachable_texts(model: Json) -> frozenset[str]:
    """Entries of a BPE model that no merge makes: reserved rows, never the tokens of a text."""
    merges = model.get("merges")
    if not merges or model.get("ignore_merges"):
        return frozenset()
    made = {"".join(merge.split(" ") if isinstance(merge, str) else merge) for merge in merges}
    return frozenset(
        text
        for text in model["vocab"]
        if len(text) > 1 and text not in made and not _BYTE_TOKEN.fullmatch(text)
    )


def _speller(decoder: Json | None) -> Callable[[str], bytes]:
    """The bytes of a token by its spelling, as the decoder of the tokenizer has it."""
    steps = [] if decoder is None else decoder.get("decoders", [decoder])
    kinds = [str(step["type"]) for step in steps]
    if "ByteLevel" in kinds and set(kinds) <= {"ByteLevel", "Fuse"}:
        return _byte_level_bytes
    if "ByteFallback" not in kinds:
        raise VocabularyError(
            f"tokenizer decoder {' + '.join(kinds) or None!r} is not supported; byte-level BPE "
            "and SentencePiece models with byte fallback are"
        )
    return _byte_fallback_speller(steps)


def _byte_fallback_speller(steps: list[Json]) -> Callable[[str], bytes]:
    """Follow `Replace* ByteFallback Fuse? Strip?`, the chain of converted SentencePiece models.

    `Strip` takes the space off the front of a whole text: that is the detokenizer's business.
    """
    replacements: list[tuple[str, str]] = []
    seen: list[str] = []
    for step in steps:
        match step:
            case {"type": "Replace", "pattern": {"String": old}, "content": new} if not seen:
                replacements.append((old, new))
            case {"type": "Metaspace", "replacement": old} if not seen:
                replacements.append((old, " "))
            case {"type": "ByteFallback" | "Fuse"}:
                seen.append(step["type"])
            case {"type": "Strip", "content": " ", "stop": 0} if "Fuse" in seen:
                pass
            case _:
                raise VocabularyError(f"tokenizer decoder step {dict(step)} is not supported")

    def spell(text: str) -> bytes:
        byte = _BYTE_TOKEN.fullmatch(text)
        if byte:
            return bytes.fromhex(byte[1])
        for old, new in replacements:
            text = text.replace(old, new)
        return text.encode()

    return spell


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's printable character for each byte: itself where printable in Latin-1, else 256 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    alphabet.update({chr(256 + index): byte for index, byte in enumerate(others)})
    return alphabet


_BYTE_OF_CHARACTER: Final = _byte_alphabet()


def _byte_level_bytes(text: str) -> bytes:
    try:
        return bytes([_BYTE_OF_CHARACTER[character] for character in text])
    except KeyError:  # such a token is plain text, as the tokenizers library has it
        return text.encode()
