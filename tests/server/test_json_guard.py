"""Request bodies are read as JSON and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server import json_guard
from server.config import ServerConfig
from server.json_guard import NotJsonError, parse_json, parse_json_object
from server.request_errors import MalformedBodyError


@pytest.mark.parametrize(
    ("body", "message", "param"),
    [
        (b"", "The body is not JSON: Expecting value at line 1 column 1", None),
        (b"[1]", "The body is JSON, but not an object: send {...}", None),
        (b"{'a': 1}", "The body is not JSON", None),
        (b'{"a": 1} x', "The body is not JSON: Extra data", None),
        (b'{"a": NaN}', "a: NaN, infinities", "a"),
        (b'{"a": {"b": [0, -Infinity]}}', "a.b[1]: NaN, infinities", "a.b[1]"),
        (b'{"a": 1e400}', "a: NaN, infinities", "a"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "more than max_number_chars=1000 characters", None),
        (b'{"a": 1, "a": 2}', "an object with the key 'a' twice", None),
        (b'{"a": "\xff"}', "The body is not UTF-8: byte 7", None),
        (b'{"a": "\\ud800"}', "a: a \\u escape of a lone surrogate", "a"),
        (b'{"\\udc00": 1}', "a \\u escape of a lone surrogate", None),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deeper than max_json_depth=4", None),
        (b'{"a": [[[[1]]]]}', "deeper than max_json_depth=4", None),
    ],
)
def test_a_body_is_refused_with_its_reason(body, message, param):
    with pytest.raises(MalformedBodyError) as caught:
        parse_json_object(body, max_depth=4)
    assert message in caught.value.message
    assert caught.value.param == param


@pytest.mark.parametrize("text", ["[1, 1, 1, 1]", '{"a": 1, "b": {"c": 1, "d": 1}}', "[[], []]"])
def test_values_are_counted_and_what_stands_in_strings_is_none(text):
    body = f'{{"a\\",,": {text}, "b": "[,{{\\\\"}}'.encode()
    value = parse_json_object(body, max_depth=4, max_values=6)
    assert value["b"] == "[,{\\"
    with pytest.raises(MalformedBodyError, match="The body has more than max_json_values=5 values"):
        parse_json_object(body, max_depth=4, max_values=5)


def test_key_order_is_kept_and_pairs_of_surrogates_are_characters():
    body = b'{"z": 1, "a": {"y": [true, null], "b": "\\ud83d\\ude00 \\u0000"}}'
    value = parse_json_object(body, max_depth=4)
    assert value == {"z": 1, "a": {"y": [True, None], "b": "😀 \0"}}
    assert list(value) == ["z", "a"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[1", "the text is not JSON: Expecting ',' delimiter at line 1 column 3"),
        ("NaN", "the text: NaN, infinities and numbers beyond a double are not JSON"),
        ('[{"a": "\\udc00"}]', "[0].a: a \\u escape of a lone surrogate is no character"),
        ("[" * 900 + "]" * 900, "the text nests arrays and objects deeper than max_json_depth=128"),
    ],
)
def test_a_text_is_refused_with_its_reason(text, sentence):
    with pytest.raises(NotJsonError) as caught:
        parse_json(text)
    assert caught.value.sentence("the text") == sentence


def test_a_text_may_be_any_value():
    assert [parse_json(text) for text in ("1", '"a"', "null", " [2.5] ")] == [1, "a", None, [2.5]]


def test_depths_that_could_not_be_walked_are_no_setting():
    with pytest.raises(ValueError, match="max_json_depth: at most 256 can be walked"):
        ServerConfig(max_json_depth=257)


def num_values(value: object) -> int:
    """Arrays and objects twice; what follows another in one of them is behind a comma."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return 0
    return 1 + max(0, len(value) - 1) + sum(map(num_values, value))


TEXTS = st.text(st.sampled_from('a\\"/,[{é'), max_size=8)
VALUES = st.recursive(
    TEXTS | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given(value=VALUES, chars_at_a_time=st.integers(1, 9))
def test_values_are_counted_alike_however_the_text_is_cut(value, chars_at_a_time):
    text, count = json.dumps([value]), num_values([value])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_guard, "_CHARS_AT_A_TIME", chars_at_a_time)
        assert parse_json(text, max_values=count) == [value]
        with pytest.raises(NotJsonError, match="more than max_json_values"):
            parse_json(text, max_values=count - 1)
