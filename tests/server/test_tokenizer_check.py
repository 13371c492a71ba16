"""A tokenizer.json is checked before the tokenizers library makes room for what it claims."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from tokenizers import Tokenizer

from grammars.errors import VocabularyError
from grammars.text_encoder import TextEncoder
from grammars.tokenizer_json import read_token_table
from server.chat.prompt_tokenizer import PromptTokenizer
from server.errors import StartupError
from server.tokenizer import load_tokenizer
from server.tokenizer_check import MAX_FILE_BYTES, MAX_TOKEN_ID, check_tokenizer_json
from tests.support.shared_data import shared_file
from tests.support.tiny_folder import write_tiny_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_folder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def document(folder) -> Any:
    """What the file holds, put back afterwards."""
    path = folder / "tokenizer.json"
    original = path.read_text()
    yield json.loads(original)
    path.write_text(original)


def refusal(folder, document: object) -> str:
    (folder / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(StartupError) as caught:
        load_tokenizer(folder)
    message = str(caught.value)
    start = "tiny has no usable tokenizer: tokenizer.json: "
    assert message.startswith(start)
    return message.removeprefix(start)


@pytest.mark.parametrize("token_id", [2**31, 2**32 - 1, MAX_TOKEN_ID + 1, -1])
def test_an_id_that_no_model_has_is_refused(folder, document, token_id):
    expected = f"the token '<new>' has the id {token_id}; ids end at {MAX_TOKEN_ID}"
    added = document["added_tokens"][0] | {"content": "<new>", "id": token_id}
    assert refusal(folder, document | {"added_tokens": [added]}) == expected
    document["model"]["vocab"]["<new>"] = token_id
    assert refusal(folder, document) == expected


def test_an_id_of_two_tokens_is_refused(folder, document):
    """What a mask allows as one of them could be written as the other."""
    document["model"]["vocab"]["zz"] = 5
    first = next(text for text, token_id in document["model"]["vocab"].items() if token_id == 5)
    assert refusal(folder, document) == f"the id 5 is that of two tokens, {first!r} and 'zz'"
    del document["model"]["vocab"]["zz"]
    document["added_tokens"][0] |= {"content": "<new>", "id": 6}
    second = next(text for text, token_id in document["model"]["vocab"].items() if token_id == 6)
    assert refusal(folder, document) == f"the id 6 is that of two tokens, {second!r} and '<new>'"


REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 9}


@pytest.mark.parametrize(
    ("normalizer", "growth"),
    [
        ({"type": "Sequence", "normalizers": [REPLACE] * 10}, 9**10),
        ({"type": "Replace", "pattern": {"Regex": "x*"}, "content": "y" * 64}, 65),
        ({"type": "Prepend", "prepend": "a" * 10**6}, 10**6),
    ],
)
def test_a_normalizer_that_makes_much_of_little_is_refused(folder, document, normalizer, growth):
    assert refusal(folder, document | {"normalizer": normalizer}) == (
        f"its normalizer makes up to {growth} characters of one; 64 are allowed"
    )


def test_a_post_processor_that_frames_texts_in_thousands_of_tokens_is_refused(folder, document):
    special = {"x": {"id": "x", "ids": [1] * 1_000, "tokens": ["x"] * 1_000}}
    single = [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    template = {"type": "TemplateProcessing", "single": single, "special_tokens": special}
    processor = {"type": "Sequence", "processors": [template, template]}
    assert refusal(folder, document | {"post_processor": processor}) == (
        "its post-processor puts 2000 tokens around a text; 64 are allowed"
    )


def test_a_file_of_a_gigabyte_is_not_read(folder, document):
    path = folder / "tokenizer.json"
    with path.open("ab") as file:
        file.truncate(2**30)
    with pytest.raises(StartupError) as caught:
        load_tokenizer(folder)
    assert str(caught.value) == (
        f"tiny has no usable tokenizer: tokenizer.json: it has {2**30} bytes, at most "
        f"{MAX_FILE_BYTES} are read"
    )
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("value", [[], 3, "x", None])
def test_a_file_that_is_no_object_is_refused(folder, document, value):
    del document
    assert refusal(folder, value) == "not a JSON object"


def test_tokenizers_of_real_models_pass(tmp_path):
    packed = sorted(shared_file("tokenizers").glob("*/tokenizer.json.gz"))
    assert packed
    for path in packed:
        (tmp_path / "tokenizer.json").write_bytes(gzip.decompress(path.read_bytes()))
        check_tokenizer_json(tmp_path / "tokenizer.json")


def test_a_prompt_is_neither_cut_nor_filled_up(document):
    plain = PromptTokenizer(json.dumps(document), tags=())
    document["truncation"] = {
        "max_length": 1,
        "strategy": "LongestFirst",
        "stride": 0,
        "direction": "Right",
    }
    document["padding"] = {
        "strategy": {"Fixed": 100},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "a",
    }
    changed = PromptTokenizer(json.dumps(document), tags=())
    token_ids = plain.encode_text("hello there", add_special_tokens=True)
    assert len(token_ids) > 1
    assert changed.encode_text("hello there", add_special_tokens=True) == token_ids


@pytest.mark.parametrize(
    ("post_processor", "reason"),
    [
        ({"special_tokens": {}}, "its tokenizer has a broken post-processor: "),
        (
            {"special_tokens": {"x": {"id": "x", "ids": [1], "tokens": ["x"]}}},
            "its tokenizer drops the text between the special tokens",
        ),
    ],
)
def test_a_post_processor_at_odds_with_itself_is_refused(document, post_processor, reason):
    single = [{"SpecialToken": {"id": "x", "type_id": 0}}]
    pair = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}]
    template = {"type": "TemplateProcessing", "single": single, "pair": pair}
    document["post_processor"] = template | post_processor
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the message is compared
        PromptTokenizer(json.dumps(document), tags=())
    assert str(caught.value).startswith(reason)


def test_a_tokenizer_that_cuts_at_random_is_refused_by_name(document):
    document["model"]["dropout"] = 0.5
    with pytest.raises(VocabularyError) as caught:
        read_token_table(json.dumps(document).encode())
    assert str(caught.value) == "tokenizer model option 'dropout' is not supported"


def test_forced_text_that_the_tokenizers_expressions_cannot_read_is_cut_by_its_tokens(document):
    """The library gives up with an exception that is no `Exception`."""
    pattern = {"Regex": "(?=(a+)+$)b|."}
    split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": False,
        "use_regex": False,
    }
    pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, byte_level]}
    document["pre_tokenizer"] = pre_tokenizer
    source = json.dumps(document).encode()
    text = "a" * 40 + "!"
    with pytest.raises(BaseException, match=r"retry-limit|Oniguruma|unwrap") as caught:
        Tokenizer.from_str(source.decode()).encode(text)
    assert type(caught.value).__name__ == "PanicException"
    table = read_token_table(source)
    encoder = TextEncoder(source, table.token_bytes)
    token_ids = encoder.encode(text.encode())
    assert b"".join(table.token_bytes[token_id] for token_id in token_ids) == text.encode()
