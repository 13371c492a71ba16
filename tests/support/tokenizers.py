"""Vocabularies for tests: a tiny one made in code, and real ones where their files are at hand."""

from __future__ import annotations

import gzip
import json
from functools import cache, lru_cache
from typing import Any

import pytest

from grammars.vocabulary import Vocabulary
from tests.support.byte_vocabulary import byte_alphabet
from tests.support.shared_data import SHARED_DATA

# name -> (rows of the model, end token ids)
REAL_TOKENIZERS = {
    "smollm2": (49152, (2, 0)),
    "qwen2.5": (151936, (151645, 151643)),
    "qwen3": (151936, (151645, 151643)),
    "mistral-v3": (32768, (2,)),
    "gpt2": (50257, (50256,)),
    "gpt-oss": (201088, (200002, 199999)),
    "deepseek-v4": (129280, (1,)),
}


@lru_cache(maxsize=1)
def real_tokenizer_json(name: str) -> bytes:
    """The tokenizer.json of a real tokenizer; skips the test where there is none."""
    path = SHARED_DATA / "tokenizers" / name / "tokenizer.json.gz"
    if not path.exists():
        pytest.skip(f"no tokenizer {name} on this machine")
    return gzip.decompress(path.read_bytes())


@cache
def real_vocabulary(name: str) -> Vocabulary:
    """A real tokenizer with its model's rows; skips the test where there is none."""
    padded_size, end_token_ids = REAL_TOKENIZERS[name]
    return Vocabulary(
        real_tokenizer_json(name), padded_size=padded_size, end_token_ids=end_token_ids
    )


TINY_MERGES = [
    '",', '],', ']]', '[[', ']]]', '],[', '["', '"]', '"],', '12', '123', ',1', '[1', '1]', '1,',
    'ab', 'abc', '"a', '"ab', 'a"', 'ab"', 'ab",', '","', '"]]', 'é', 'éé', 'aé', ', ',
    '1,1', '],"', '"éa', 'a",', 'bc', 'cc', 'cccc', 'true', 'ru', 'ue',
]  # fmt: skip
"""Tokens of two and more bytes; those of the tiny tokenizer in this order, from id 256 on."""

TINY_CONTROLS = ("<|end|>", "<|stop|>", "<null>", "<call>", "</call>")
TINY_PADDED_SIZE = 320


def tiny_tokenizer_json(*more: str, **changes: Any) -> bytes:
    """A byte-level BPE: token i < 256 is byte i, then `TINY_MERGES`, a reserved row, the controls.

    Args:
        more: texts of tokens, and of their beginnings, after `TINY_MERGES`.
        changes: top-level entries to replace.
    """
    alphabet = byte_alphabet()
    vocab = {alphabet[byte]: byte for byte in range(256)}
    merges: list[str] = []
    for text in (*TINY_MERGES, *more):
        _add_merges("".join(alphabet[byte] for byte in text.encode()), vocab, merges)
    vocab["[unused0]"] = len(vocab)
    byte_level = {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False,
    }  # fmt: skip
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": len(vocab) + index, "content": text, "special": index < 2,
                "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            }
            for index, text in enumerate(TINY_CONTROLS)
        ],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocab, "merges": merges},
    }  # fmt: skip
    return json.dumps(document | changes).encode()


@lru_cache(maxsize=4)
def tiny_vocabulary(*more: str) -> Vocabulary:
    """The tiny tokenizer in a model with padding rows; `<|end|>` and `<|stop|>` end a text.

    Args:
        more: texts of tokens, as in `tiny_tokenizer_json`.
    """
    source = tiny_tokenizer_json(*more)
    ends = [added["id"] for added in json.loads(source)["added_tokens"] if added["special"]]
    num_more = sum(map(len, more))
    return Vocabulary(source, padded_size=TINY_PADDED_SIZE + num_more, end_token_ids=ends)


def _add_merges(text: str, vocab: dict[str, int], merges: list[str]) -> None:
    """Make `text` a token, and each of its prefixes."""
    for end in range(2, len(text) + 1):
        if text[:end] not in vocab:
            vocab[text[:end]] = len(vocab)
            merges.append(f"{text[: end - 1]} {text[end - 1]}")
