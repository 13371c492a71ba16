"""A vocabulary whose text tokens are the 256 bytes, with chosen control tokens and longer ones."""

from __future__ import annotations

import json
from functools import lru_cache

from grammars.vocabulary import Vocabulary

END_OF_TEXT = "<|end|>"


def byte_alphabet() -> list[str]:
    """The printable stand-ins of the 256 bytes in byte-level BPE (GPT-2), by byte."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    spelling = {byte: chr(byte) for byte in shown}
    spelling |= {byte: chr(256 + i) for i, byte in enumerate(hidden)}
    return [spelling[byte] for byte in range(256)]


@lru_cache(maxsize=16)
def byte_vocabulary(
    controls: tuple[str, ...] = (), pieces: tuple[bytes, ...] = (), without: bytes = b""
) -> Vocabulary:
    """Token i is byte i; token 256 ends the text; control i (symbol 256 + i) is token 257 + i.

    Behind these come tokens of several bytes. Bytes of `without` have no token.
    """
    alphabet = byte_alphabet()
    spellings = [*alphabet, *("".join(alphabet[byte] for byte in piece) for piece in pieces)]
    added = [END_OF_TEXT, *controls]
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    tokenizer = {
        "version": "1.0",
        "added_tokens": [
            {
                "id": 256 + index, "content": text, "special": index == 0, "single_word": False,
                "lstrip": False, "rstrip": False, "normalized": False,
            }
            for index, text in enumerate(added)
        ],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {
                spelling: index if index < 256 else index + len(added)
                for index, spelling in enumerate(spellings)
                if index >= 256 or index not in without
            },
            "merges": [],
        },
    }  # fmt: skip
    return Vocabulary(
        json.dumps(tokenizer).encode(), padded_size=len(spellings) + len(added), end_token_ids=[256]
    )
