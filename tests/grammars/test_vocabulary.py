"""The vocabulary: which bytes each token stands for, and which tokens are no text."""

from __future__ import annotations

import json
import random

import pytest

from grammars.errors import InvalidGrammarError, VocabularyError
from grammars.vocabulary import Vocabulary
from tests.support.tokenizers import (
    REAL_TOKENIZERS,
    TINY_CONTROLS,
    TINY_MERGES,
    TINY_PADDED_SIZE,
    real_tokenizer_json,
    real_vocabulary,
    tiny_tokenizer_json,
    tiny_vocabulary,
)

LINES = [
    "hello", " hello", "Hello, world!", '{"a": [1, 2.5e-3], "b": null}', "    indented  1\n\tx",
    "naïve café — 天气 ☔ 😀", "a\r\n\r\nb", "12345 0x1F", "<b>not a tag</b>", "e\u0301",
    "def f(x):\n    return x  # ok", "ﬁ ½ ∑ ß İ", "\u200b\ufeff", "  ",
]  # fmt: skip


@pytest.mark.parametrize("name", REAL_TOKENIZERS)
def test_token_bytes_join_to_the_text(name):
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = real_vocabulary(name)
    tokenizer = tokenizers.Tokenizer.from_str(real_tokenizer_json(name).decode())
    choose = random.Random(0)
    letters = "".join(LINES)
    made = ["".join(choose.choices(letters, k=40)) for _ in range(200)]
    for line in [*LINES, *made]:
        token_ids = tokenizer.encode(line, add_special_tokens=False).ids
        data = b"".join(vocabulary.token_bytes[token_id] for token_id in token_ids)
        decoded = tokenizer.decode(token_ids, skip_special_tokens=False)
        assert data.decode() in {decoded, " " + decoded}
        assert b"".join(vocabulary.token_bytes[x] for x in vocabulary.encode(line.encode())) == (
            line.encode()
        )


@pytest.mark.parametrize(
    ("name", "hello", "controls"),  # "hello" inside a text: without SentencePiece's space
    [
        ("qwen2.5", [14990], {"<|im_start|>": 151644, "<tool_call>": 151657}),
        ("qwen3", [14990], {"</tool_call>": 151658, "<think>": 151667, "</think>": 151668}),
        ("smollm2", [28120], {"<|im_start|>": 1}),
        ("gpt2", [31373], {}),
        ("gpt-oss", [24912], {}),
        ("deepseek-v4", [33310], {}),
        ("mistral-v3", [22326], {"[INST]": 3}),
    ],
)
def test_ids_are_those_of_the_tokenizer(name, hello, controls):
    vocabulary = real_vocabulary(name)
    assert vocabulary.encode(b"hello") == hello
    for text, token_id in controls.items():
        symbol = vocabulary.control_symbol(text)
        assert symbol is not None
        assert vocabulary.control_token_id(symbol) == token_id
        assert token_id not in vocabulary.token_bytes


@pytest.mark.parametrize("name", REAL_TOKENIZERS)
def test_no_added_token_is_text_and_none_comes_out_of_encode(name):
    vocabulary = real_vocabulary(name)
    added = json.loads(real_tokenizer_json(name))["added_tokens"]
    assert not {token["id"] for token in added} & vocabulary.token_bytes.keys()
    control_ids = {control.token_id for control in vocabulary.controls}
    assert {token["id"] for token in added} <= control_ids
    for token in added[:50]:
        data = f"say {token['content']} now".encode()
        token_ids = vocabulary.encode(data)
        assert not control_ids & set(token_ids)
        assert b"".join(vocabulary.token_bytes[x] for x in token_ids) == data


def test_the_tiny_tokenizer_is_read_whole():
    vocabulary = tiny_vocabulary()
    texts = set(vocabulary.token_bytes.values())
    assert {bytes([byte]) for byte in range(256)} | {x.encode() for x in TINY_MERGES} <= texts
    assert [control.text for control in vocabulary.controls] == ["[unused0]", *TINY_CONTROLS]
    assert vocabulary.padded_size == TINY_PADDED_SIZE
    assert vocabulary.num_words == TINY_PADDED_SIZE // 32


def test_bytes_that_are_no_text_are_spelled_by_the_longest_tokens():
    vocabulary = tiny_vocabulary()
    token_ids = vocabulary.encode(b"\xc3\xa9abc\xff")
    assert [vocabulary.token_bytes[x] for x in token_ids] == [b"\xc3\xa9", b"abc", b"\xff"]


def test_a_literal_is_cut_at_the_spellings_of_control_tokens():
    vocabulary = tiny_vocabulary()
    call, end_call = vocabulary.control_symbol("<call>"), vocabulary.control_symbol("</call>")
    assert vocabulary.split_controls("<call>{}</call>") == [call, b"{}", end_call]
    assert vocabulary.split_controls("é<call") == ["é<call".encode()]
    assert vocabulary.split_controls("") == []


def test_the_longest_control_token_is_cut_first():
    added = [
        {"id": 400, "content": "<a>", "special": False},
        {"id": 401, "content": "<a>b", "special": False},
        {"id": 402, "content": "$", "special": True},
    ]
    vocabulary = Vocabulary(
        tiny_tokenizer_json(added_tokens=added), padded_size=403, end_token_ids=[402]
    )
    assert vocabulary.split_controls("<a>b<a>c") == [
        vocabulary.control_symbol("<a>b"), vocabulary.control_symbol("<a>"), b"c",
    ]  # fmt: skip


def test_a_literal_cannot_name_an_end_token():
    assert tiny_vocabulary().control_symbol("<|end|>") is None
    with pytest.raises(InvalidGrammarError) as refused:
        tiny_vocabulary().split_controls("a<|end|>")
    assert str(refused.value) == (
        "(root): the literal 'a<|end|>' spells the end token '<|end|>', which may only follow a "
        "complete text; leave it out"
    )


def byte_fallback_json(**changes: object) -> bytes:
    """A SentencePiece-like tokenizer: byte tokens 0..255, then some pieces."""
    pieces = {f"<0x{byte:02X}>": byte for byte in range(256)}
    for piece in ("▁", "a", "b", "▁a", "▁ab", "é"):
        pieces[piece] = len(pieces)
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": 262, "content": "</s>", "special": True, "single_word": False,
                "lstrip": False, "rstrip": False, "normalized": False,
            }
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE", "vocab": pieces, "merges": ["▁ a", "▁a b"], "byte_fallback": True,
        },
    }  # fmt: skip
    return json.dumps(document | changes).encode()


def test_sentencepiece_tokens_have_spaces_and_fallback_bytes():
    vocabulary = Vocabulary(byte_fallback_json(), padded_size=263, end_token_ids=[262])
    assert vocabulary.token_bytes[0x0A] == b"\n"
    assert vocabulary.token_bytes[260] == b" ab"
    assert vocabulary.token_bytes[261] == "é".encode()
    assert vocabulary.encode(b"ab ab\n") == [257, 258, 260, 0x0A]  # no space before the text
    assert vocabulary.encode(b"A") == [0x41]


@pytest.mark.parametrize(
    ("source", "padded_size", "end_token_ids", "message"),
    [
        (b"{", 400, [1], "tokenizer.json is not JSON: "),
        (b"[]", 400, [1], "tokenizer.json has no 'model' and 'added_tokens'"),
        (
            tiny_tokenizer_json(model={"type": "WordPiece", "vocab": {}}), 400, [1],
            "tokenizer model 'WordPiece' is not supported; byte-level BPE and SentencePiece models"
            " with byte fallback are",
        ),
        (
            tiny_tokenizer_json(decoder={"type": "WordPiece"}), 400, [1],
            "tokenizer decoder 'WordPiece' is not supported; byte-level BPE and SentencePiece"
            " models with byte fallback are",
        ),
        (
            tiny_tokenizer_json(decoder=None), 400, [1],
            "tokenizer decoder None is not supported; byte-level BPE and SentencePiece models"
            " with byte fallback are",
        ),
        (
            byte_fallback_json(
                decoder={"type": "Sequence", "decoders": [
                    {"type": "Strip", "content": " ", "start": 1, "stop": 0},
                    {"type": "ByteFallback"},
                ]}
            ),
            400, [1],
            "tokenizer decoder step {'type': 'Strip', 'content': ' ', 'start': 1, 'stop': 0} is not"
            " supported",
        ),
        (
            tiny_tokenizer_json(model={"type": "BPE", "vocab": {}, "end_of_word_suffix": "</w>"}),
            400, [1], "tokenizer model option 'end_of_word_suffix' is not supported",
        ),
        (
            tiny_tokenizer_json(model={"type": "BPE", "merges": [], "vocab": {"A": 0, "B": 1}}),
            400, [1],
            "no token stands for these single bytes of UTF-8: 09 0A 0D 20 21 22 23 24 25 26 27 28 ",
        ),
        (
            tiny_tokenizer_json(), TINY_PADDED_SIZE, [],
            "no end token id is given, so no text could end",
        ),
        (
            tiny_tokenizer_json(), TINY_PADDED_SIZE, [320, 1],
            "end token ids [320] are not among 320 rows",
        ),
        (tiny_tokenizer_json(), 200, [1], "but the model has only 200 rows"),
    ],
)  # fmt: skip
def test_a_tokenizer_that_cannot_be_used_is_refused_by_name(
    source, padded_size, end_token_ids, message
):
    with pytest.raises(VocabularyError) as refused:
        Vocabulary(source, padded_size=padded_size, end_token_ids=end_token_ids)
    assert message in str(refused.value)


def test_bytes_that_texts_can_do_without_may_be_missing():
    assert real_vocabulary("smollm2").missing_bytes == {4, 6, 0x13, 0x14, 0x16, 0x1D, 0xF1, 0xF2}
    assert tiny_vocabulary().missing_bytes == frozenset()


def test_digests_tell_vocabularies_apart():
    source = tiny_tokenizer_json()
    one = Vocabulary(source, padded_size=400, end_token_ids=[3, 1])
    assert one.digest == Vocabulary(source, padded_size=400, end_token_ids=[1, 3, 3]).digest
    assert one.digest != Vocabulary(source, padded_size=401, end_token_ids=[1, 3]).digest
    assert one.digest != Vocabulary(source, padded_size=400, end_token_ids=[1]).digest


def test_a_tokenizer_is_read_from_a_path(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(tiny_tokenizer_json())
    vocabulary = Vocabulary(path, padded_size=400, end_token_ids=[1])
    assert vocabulary.digest == (
        Vocabulary(tiny_tokenizer_json(), padded_size=400, end_token_ids=[1]).digest
    )


def test_what_is_derived_is_made_once():
    made: list[Vocabulary] = []
    build = made.append
    vocabulary = Vocabulary(tiny_tokenizer_json(), padded_size=400, end_token_ids=[1])
    vocabulary.derive(build)
    vocabulary.derive(build)
    assert made == [vocabulary]


def test_half_a_character_in_a_literal_is_refused():
    with pytest.raises(InvalidGrammarError, match="holds a lone surrogate"):
        tiny_vocabulary().split_controls("a\ud800")
