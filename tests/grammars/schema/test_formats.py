"""Formats of strings: each RFC's examples, and texts drawn from the automata judged by others."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.compile import compile_grammar
from grammars.errors import UnsupportedError
from grammars.schema.formats import (
    ENFORCED_FORMATS,
    NARROWER_FORMATS,
    format_dfa,
    widest_format_dfa,
)
from grammars.spec import JsonSchema
from tests.support.byte_vocabulary import byte_vocabulary

LONG_LABEL = "a" * 63


@pytest.mark.parametrize(
    ("name", "accepts", "rejects"),
    [
        (
            "date",
            ["2024-02-29", "2000-02-29"],
            ["2023-02-29", "1900-02-29", "2024-04-31", "24-1-1"],
        ),
        (
            "time",
            ["12:00:00Z", "23:59:60Z", "01:02:03.5+01:30"],
            ["12:00:60Z", "12:00:00", "24:00:00Z"],
        ),
        ("date-time", ["2024-05-01T12:00:00z", "1990-12-31T23:59:60Z"], ["2024-05-01 12:00:00Z"]),
        ("duration", ["P1Y2M3DT4H5M6S", "P3W", "PT1S"], ["P", "P1Y3D", "PT", "P1W2D", "1D"]),
        ("ipv4", ["0.0.0.0", "255.1.10.99"], ["01.2.3.4", "256.1.1.1", "1.2.3"]),
        (
            "ipv6",
            ["::", "::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"],
            ["1::2::3", "12345::", "::%eth0"],
        ),
        (
            "hostname",
            ["a", "a-b.example", f"{LONG_LABEL}.com"],
            ["", "-a", "a-", "a..b", "a.", f"{LONG_LABEL}a"],
        ),
        ("hostname", [], ["xn--a", "ab--c", "a_b", "é.com"]),
        (
            "idn-hostname",
            ["straße.de", "例え.テスト", "παράδειγ", "a.b"],
            ["a b", "e\u0301", "ΣΑ.gr", "א.com", "-é", "é-"],
        ),
        (
            "email",
            ["joe@example.com", '"joe x"@[127.0.0.1]', "a+b@[IPv6:::1]"],
            ["joe", ".joe@a.b", "a@b@c", "jöe@a.b"],
        ),
        ("idn-email", ["jöe@exämple.de", "𝕏@a.b"], ["jöe", "ö@-a"]),
        (
            "uri",
            ["http://a/b?c#d", "urn:x", "http://[::1]:80/"],
            ["//a", "a b:c", "http://a/é", "http://[::1", "x"],
        ),
        ("uri-reference", ["", "/a", "#b", "a/b:c", "http://a"], ["a b", "%zz", ":a"]),
        ("iri", ["http://é.com/ü?\ue000#ß", "urn:漢"], ["é", "http://a/\u200e", "http://a/\ue000"]),
        ("iri-reference", ["é", "/ü#ö"], ["é é", "\\é"]),
        (
            "uri-template",
            ["", "/a/{b}", "{?x,y*}", "{+a:3}{#b.c}", "é{/p%20}"],
            ["{", "{}", "{a", "}", "{a:0}", "{=a}", "%z"],
        ),
        ("json-pointer", ["", "/a~0b~1c/", "//"], ["a", "/~", "/~2"]),
        ("relative-json-pointer", ["0", "1/a", "2#"], ["01", "-1", "#", "/a", "1#/a"]),
        (
            "uuid",
            ["123e4567-E89B-12d3-a456-426614174000"],
            ["123e4567e89b12d3a456426614174000", ""],
        ),
        (
            "regex",
            ["", "^(a|b)*$", r"[^\d_-]+?x{2,10}", "(?:(?=(a))b)", r"\bé\/", "[a-f3-7]", "a{3}"],
            ["(", "a)", "*", "a**", "[a", r"\a", "a{3,2}", "a{20,19}", "[9-0]", "(?<n>a", "{"],
        ),
    ],
)
def test_a_format_accepts_what_its_rfc_says(name, accepts, rejects):
    dfa = format_dfa(name)
    assert [text for text in accepts if not dfa.accepts(text)] == []
    assert [text for text in rejects if dfa.accepts(text)] == []


@pytest.mark.parametrize("name", sorted(ENFORCED_FORMATS))
def test_a_format_is_small_enough_to_be_built_and_walked_at_once(name):
    assert 1 < format_dfa(name).num_states < 1_500


@st.composite
def texts_of(draw, dfa, max_length=24):
    """A text that an automaton accepts, by a walk that ends at the first chance after a while."""
    state, text = dfa.start, ""
    while not (dfa.accepting[state] and (len(text) >= max_length or draw(st.booleans()))):
        edges = list(dfa.edges(state))
        if not edges:
            break
        low, high, state = draw(st.sampled_from(edges))
        text += chr(draw(st.integers(low, high)))
        if len(text) > 400:
            break
    return text


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_text_of_the_format_regex_is_a_regular_expression(data):
    dfa = format_dfa("regex")
    text = data.draw(texts_of(dfa))
    if dfa.accepts(text):
        re.compile(text)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_text_of_the_format_idn_hostname_has_short_a_labels(data):
    dfa = format_dfa("idn-hostname")
    text = data.draw(texts_of(dfa))
    if dfa.accepts(text):
        labels = [label.encode("punycode").decode() for label in text.split(".")]
        a_labels = [
            label if label.isascii() else f"xn--{coded}"
            for label, coded in zip(text.split("."), labels, strict=True)
        ]
        assert max(map(len, a_labels)) <= 63
        assert len(".".join(a_labels)) <= 253


def is_accepted(schema: dict[str, object], text: str) -> bool:
    matcher = compile_grammar(JsonSchema(json.dumps(schema)), byte_vocabulary()).matcher()
    spelled = json.dumps(text, ensure_ascii=False).encode()
    return all(matcher.accept_token(byte) for byte in spelled) and matcher.is_complete


@pytest.mark.parametrize(
    ("schema", "accepts", "rejects"),
    [
        ({"not": {"format": "time"}}, ["noon"], ["12:00:00Z", "01:29:60+01:30"]),
        ({"not": {"format": "hostname"}}, ["a_b"], ["a", ".".join("a" * 9), "xn--a"]),
        ({"not": {"not": {"format": "hostname"}}}, ["a.b"], ["a_b", ".".join("a" * 9)]),
        (
            {"oneOf": [{"format": "date-time"}, {"format": "date"}]},
            ["2024-05-01", "2024-05-01T12:00:00Z"],
            ["x", "2024-05-01T01:29:60+01:30"],
        ),
        ({"oneOf": [{"format": "hostname"}, {"minLength": 5}]}, ["abc"], ["abcde", "xn--abcde"]),
        ({"if": {"format": "email"}, "else": {"maxLength": 2}}, ["a@b.c", "ab"], ["abc", "a@b_"]),
        ({"not": {"format": "date"}}, ["2023-02-29"], ["2024-02-29"]),
    ],
)
def test_a_format_is_not_widened_by_a_negation(schema, accepts, rejects):
    schema = {"type": "string", **schema}
    assert [text for text in accepts if not is_accepted(schema, text)] == []
    assert [text for text in rejects if is_accepted(schema, text)] == []


@pytest.mark.parametrize("name", ["regex", "hostname"])
def test_names_of_properties_can_have_a_format(name):
    grammar = compile_grammar(
        JsonSchema(json.dumps({"type": "object", "propertyNames": {"format": name}})),
        byte_vocabulary(),
    )
    for text, expected in ((b'{"a.b": 1}', True), (b'{"(": 1}', False), (b'{"a": 1}', True)):
        matcher = grammar.matcher()
        read = all(matcher.accept_token(byte) for byte in text)
        assert (read and matcher.is_complete) is expected


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "not": {"format": "regex"}},
        {"format": "hostname", "const": "xn--a"},
    ],
)
def test_what_only_the_wider_form_of_a_format_decides_is_refused(schema):
    with pytest.raises(UnsupportedError, match="in which a format is generated"):
        is_accepted(schema, "")


@pytest.mark.parametrize("name", sorted(NARROWER_FORMATS))
def test_a_format_lies_within_its_widest_form(name):
    assert format_dfa(name).difference(widest_format_dfa(name)).is_empty
