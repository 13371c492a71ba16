"""A small tokenizer made in code, and texts judged by a compiled grammar."""

from __future__ import annotations

import json

import pytest

from grammars.vocabulary import Vocabulary

END_TOKEN_IDS = (300, 302)
CONTROL_TOKENS = {300: "<|end|>", 301: "<tool_call>", 302: "<|stop|>"}
PADDED_SIZE = 330  # 27 rows without a token, and a last bitmask word that is not full
MERGES = [
    '{ "',
    '" :',
    '" ,',
    '" }',
    "t r",
    "u e",
    "tr ue",
    "1 2",
    "12 3",
    "a b",
    "Ã ©",
    "1 .",
    "] }",
]


def byte_alphabet() -> dict[int, str]:
    """Byte -> the character that byte-level BPE writes it as (GPT-2)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {
        byte: chr(0x100 + index) for index, byte in enumerate(others)
    }


def tokenizer_json() -> bytes:
    tokens = [*byte_alphabet().values(), *(merge.replace(" ", "") for merge in MERGES)]
    added = [
        {"id": token_id, "content": text, "special": token_id != 301, "normalized": False,
         "single_word": False, "lstrip": False, "rstrip": False}
        for token_id, text in CONTROL_TOKENS.items()
    ]  # fmt: skip
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return json.dumps(
        {
            "version": "1.0",
            "added_tokens": added,
            "pre_tokenizer": {**byte_level, "use_regex": False},
            "decoder": {**byte_level, "use_regex": False},
            "model": {
                "type": "BPE",
                "vocab": {token: index for index, token in enumerate(tokens)},
                "merges": MERGES,
            },
        }
    ).encode()


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    return Vocabulary(tokenizer_json(), padded_size=PADDED_SIZE, end_token_ids=END_TOKEN_IDS)


@pytest.fixture(scope="session")
def accepts(vocabulary):
    """accepts(compiled, text): whether every token is accepted and the text is then complete."""

    def judge(compiled, text: str) -> bool:
        matcher = compiled.matcher()
        return (
            all(map(matcher.accept_token, vocabulary.encode(text.encode()))) and matcher.is_complete
        )

    return judge
