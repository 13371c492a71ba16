"""Strings as JSON spells them: every spelling, or the canonical one, of every text and no other."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.codepoint_dfa import any_string
from grammars.automata.json_string import any_json_string, json_string
from grammars.automata.pattern_dfa import fullmatch, search
from grammars.automata.string_list import strings
from grammars.errors import LimitExceededError

SHORT_ESCAPES = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
characters = st.characters(exclude_categories=["Cs"]) | st.sampled_from(
    '"\\/\b\f\n\r\t\x00\x01\x1f\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff'
)
texts = st.text(characters, max_size=5)


def spellings_of(character):
    """Every way to write a character inside a JSON string (RFC 8259, section 7)."""
    spellings = [character.encode()] if character >= " " and character not in '"\\' else []
    if character in SHORT_ESCAPES:
        spellings.append(b"\\" + SHORT_ESCAPES[character].encode())
    if character == "/":
        spellings.append(b"\\/")
    units = character.encode("utf-16-be").hex()
    escape = "".join("\\u" + units[i : i + 4] for i in range(0, len(units), 4))
    mixed = escape.replace("a", "A").replace("d", "D").replace("e", "E")
    upper = escape.upper().replace("U", "u")
    return spellings + [text.encode() for text in {escape, upper, mixed}]


@st.composite
def spelled_texts(draw):
    text = draw(texts)
    body = b"".join(draw(st.sampled_from(spellings_of(character))) for character in text)
    return text, b'"' + body + b'"'


def well_formed_content(data):
    """The content of a JSON string, None if `data` is not one or has a lone surrogate."""
    try:
        text = json.loads(data.decode())
        text.encode()
    except (ValueError, AttributeError):
        return None
    return text if data.startswith(b'"') and data.endswith(b'"') else None


@given(spelled_texts())
@settings(max_examples=300, deadline=None)
def test_every_spelling_of_every_text_is_a_json_string(case):
    text, data = case
    assert json.loads(data) == text
    assert any_json_string().accepts(data)


@given(texts)
@settings(deadline=None)
def test_the_canonical_spelling_is_that_of_json_dumps(text):
    assert any_json_string("canonical").accepts(json.dumps(text, ensure_ascii=False).encode())


@given(spelled_texts())
@settings(max_examples=300, deadline=None)
def test_the_canonical_spelling_is_unique_but_for_the_case_of_hex_digits(case):
    text, data = case
    dumped = json.dumps(text, ensure_ascii=False).encode()
    hex_free = all(character >= " " or character in SHORT_ESCAPES for character in text)
    if any_json_string("canonical").accepts(data):
        assert data == dumped or (not hex_free and data.lower() == dumped.lower())


@given(spelled_texts(), st.integers(0, 40), st.integers(0, 255), st.booleans())
@settings(max_examples=400, deadline=None)
def test_a_changed_byte_is_accepted_just_where_json_accepts_it(case, at, byte, is_insert):
    data = bytearray(case[1])
    at %= len(data)
    data[at : at if is_insert else at + 1] = [byte]
    content = well_formed_content(bytes(data))
    assert any_json_string().accepts(bytes(data)) == (content is not None)


@pytest.mark.parametrize(
    "data",
    [
        b'"\t"', b'"\n"', b'"\x01"', b'"\x00"',
        b'"\\q"', b'"\\u12"', b'"\\u12G4"', b'"\\"', b'"\\U0041"', b'"\\x41"',
        b'"\xc0\x80"', b'"\xe0\x80\x80"', b'"\xf0\x80\x80\x80"', b'"\xed\xa0\x80"',
        b'"\xf4\x90\x80\x80"', b'"\xf5\x80\x80\x80"', b'"\x80"', b'"\xc3"', b'"\xff"',
        b'"\\ud800"', b'"\\udc00"', b'"\\ud800\\u0041"', b'"\\ud800\\ud800"', b'"\\ud83d"',
        b'', b'"', b'a', b'""x', b'"a" ',
    ],
)  # fmt: skip
def test_what_is_not_a_json_string_is_refused(data):
    assert not any_json_string().accepts(data)
    assert not any_json_string("canonical").accepts(data)


@given(st.frozensets(texts, max_size=5), spelled_texts())
@settings(deadline=None)
def test_the_decoded_content_decides(members, case):
    text, data = case
    assert json_string(strings(members), "any").accepts(data) == (text in members)
    others = json_string(strings(members).complement(), "any")
    assert others.accepts(data) == (text not in members)


def test_pattern_and_length_count_characters_not_bytes_or_escapes():
    dfa = json_string(fullmatch("[^a]*").with_length(2, 3), "any")
    accepted = ['"é😀"', '"\\u00e9\\ud83d\\ude00"', '"\\n\\t\\\\"']
    refused = ['"é"', '"\\u0061b"', '"ab"', '"bbbb"']
    assert all(dfa.accepts(text.encode()) for text in accepted)
    assert not any(dfa.accepts(text.encode()) for text in refused)


@given(spelled_texts())
@settings(deadline=None)
def test_boundaries_stand_between_characters(case):
    text, data = case
    dfa = any_json_string()
    states = [dfa.run(data[:length]) for length in range(len(data) + 1)]
    assert sum(map(bool, dfa.char_boundary[states])) == len(text) + 1
    assert not dfa.char_boundary[states[0]]
    assert not dfa.char_boundary[states[-1]]


def test_any_json_string_is_one_shared_object():
    assert any_json_string() is any_json_string()
    assert json_string(any_string(), "any") is not any_json_string()


def test_a_unicode_property_costs_as_many_states_as_it_has_boundaries():
    assert json_string(search(r"^\p{L}+$")).num_states < 400


def test_the_empty_language_has_no_spelling():
    assert json_string(fullmatch("[]")).is_empty
    assert not json_string(fullmatch("[]")).char_boundary.any()


def test_the_limit_is_counted_and_named():
    with pytest.raises(LimitExceededError, match="a JSON string needs more than max_states=100"):
        json_string(fullmatch(".{90}"), max_states=100)
