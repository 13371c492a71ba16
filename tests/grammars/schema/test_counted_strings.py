"""Bounds of the length beside a pattern: counted where that is exact, else multiplied out."""

import json
from itertools import product

import pytest

from grammars.automata.codepoint_dfa import CodePointDfa
from grammars.automata.lengths import Lengths, can_be_counted, lengths_of
from grammars.automata.pattern_dfa import fullmatch, repeated_class
from grammars.compile import compile_grammar
from grammars.schema import scalars
from grammars.schema.value import StringSet
from grammars.spec import JsonSchema
from tests.support.byte_vocabulary import byte_vocabulary

TEXTS = ["".join(letters) for length in range(6) for letters in product("aé-", repeat=length)]


def lengths(dfa: CodePointDfa) -> Lengths:
    return lengths_of(dfa.next_state, dfa.accepting, dfa.start)


@pytest.mark.parametrize(
    ("pattern", "shortest", "longest"),
    [("", 0, 0), ("a{3}|b", 1, 3), ("ab?c{2,5}", 3, 7), ("x(ab)*", 1, None), ("a*b", 1, None)],
)
def test_the_lengths_of_a_language_are_known(pattern, shortest, longest):
    assert lengths(fullmatch(pattern)) == Lengths(shortest, longest)


@pytest.mark.parametrize(
    ("pattern", "minimum", "maximum", "expected"),
    [
        ("[a-z]*", 5, 1000, True),
        ("[a-z][a-z0-9]*", 0, 1000, True),
        ("https?://.+", 0, 1000, True),
        ("https?://.+", 0, 7, False),  # no room for the shortest
        (".+@.+", 0, 1000, True),
        (".+@.+", 7, None, True),
        ("a{2,5}", 3, None, False),  # cannot go on
        ("[é]*", 0, 1000, True),
        ("[é]*", 3, 1000, False),  # grows by two bytes
        ("a{2,5}", 0, 1000, True),
        ("[a-z]*", 3, 2, False),
    ],
)
def test_a_counter_is_enough_where_texts_can_end_and_go_on(pattern, minimum, maximum, expected):
    assert can_be_counted(fullmatch(pattern), minimum, maximum) is expected


@pytest.mark.parametrize(
    ("pattern", "members", "minimum", "maximum"),
    [("^[ab]{2,70}$", "ab", 2, 70), ("^(?:[ab]){2,}$", "ab", 2, None), (r"^-{3}$", "-", 3, 3)],
)
def test_a_repeated_class_is_recognised(pattern, members, minimum, maximum):
    found = repeated_class(pattern)
    assert found is not None
    assert (found.minimum, found.maximum) == (minimum, maximum)
    assert [chr(code) for span in found.members.ranges for code in range(span[0], span[1] + 1)] == (
        list(members)
    )


@pytest.mark.parametrize(
    "pattern", ["[a]{3}", "^[a]{3}", "^a+$", "^ab{2}$", "^(?:ab){2}$", "^a$|b{2}$"]
)
def test_another_pattern_is_no_repeated_class(pattern):
    assert repeated_class(pattern) is None


def prefixes_that_are_read(schema: dict[str, object]) -> dict[str, list[int]]:
    """How many bytes of each text are read, and whether it is then complete."""
    vocabulary = byte_vocabulary()
    grammar = compile_grammar(JsonSchema(json.dumps(schema)), vocabulary)
    result = {}
    for text in TEXTS:
        matcher = grammar.matcher()
        spelled = json.dumps(text, ensure_ascii=False).encode()
        num_read = 0
        while num_read < len(spelled) and matcher.accept_token(spelled[num_read]):
            num_read += 1
        result[text] = [num_read, int(matcher.is_complete)]
    return result


@pytest.mark.parametrize(
    "pattern",
    [
        *("^[aé]*$", "^a[^a]*$", "^[^]{2,4}$", "^-?a[^]*$", "^a-.*$|^é.*$", "a-", "^[^-]+-[^-]+$"),
        *("^(?:a+-){0,2}é$", "^(?:aé)*-$", "^(?:a|é-a)*a$"),
    ],
)
@pytest.mark.parametrize(("minimum", "maximum"), [(0, 3), (2, 4), (3, 3), (1, 5), (4, None)])
def test_a_counter_reads_exactly_what_the_product_reads(monkeypatch, pattern, minimum, maximum):
    schema: dict[str, object] = {"type": "string", "pattern": pattern, "minLength": minimum}
    if maximum is not None:
        schema["maxLength"] = maximum
    multiplied = prefixes_that_are_read(schema)
    monkeypatch.setattr(scalars, "_FEW_STATES", 0)
    assert prefixes_that_are_read(schema) == multiplied


@pytest.mark.parametrize(
    ("pattern", "bounds", "counted"),
    [
        ("^c[ab]*$", (2, 260), (2, 260)),
        ("^c[ab]*$", (1, None), (0, None)),  # as all of them are
        ("^c[ab]*$", (2, 4), (0, None)),  # multiplied in
        ("^[ab]*c$", (2, 260), (0, 260)),  # `c` is too short and cannot go on: the 2 is
        ("^a?b{0,200}c?$", (0, 202), (0, None)),
        ("^a?b{0,200}c?$", (150, 202), (0, None)),
    ],
)
def test_a_bound_is_counted_where_it_would_be_many_states(pattern, bounds, counted):
    algebra = scalars.scalar_algebra(1_000, frozenset())
    strings = algebra.intersect_strings(algebra.strings_matching(pattern), StringSet(None, *bounds))
    assert strings is not None
    assert (strings.min_length, strings.max_length) == counted


@pytest.mark.parametrize(
    ("schema", "accepts", "rejects"),
    [
        ({"pattern": "^[a-z]{0,20000}$"}, ["", "a" * 20_000], ["a" * 20_001, "A"]),
        ({"pattern": "^[a-z]{5000,}$"}, ["a" * 5_000], ["a" * 4_999]),
        ({"pattern": "^/.*$", "maxLength": 20_000}, ["/" + "é" * 19_999], ["", "/" + "é" * 20_000]),
        ({"format": "email", "maxLength": 1024}, ["a@b.c"], ["a@"]),
        ({"format": "uri", "maxLength": 3_000}, ["urn:" + "x" * 2_996], ["u:" + "x" * 2_999, "x"]),
        ({"format": "uri-reference", "minLength": 2, "maxLength": 9_999}, ["/a"], ["a"]),
        ({"pattern": r"^(?:\S+\s+){0,29}\S+$", "maxLength": 300}, ["a b"], ["a ", "é" * 301]),
        ({"pattern": r"^(?:\S+\s+){0,19}\S+$", "minLength": 1, "maxLength": 200}, ["a b"], ["a "]),
        ({"pattern": "foo", "maxLength": 5000}, ["x" * 4_997 + "foo"], ["x" * 4_998 + "foo", "fo"]),
        ({"pattern": r"^\S+ \S+$", "maxLength": 20_000}, ["a " + "b" * 19_998], ["a" * 20_000]),
        ({"pattern": r"(?:\S+\s+){0,199}\S+", "maxLength": 1000}, [" " * 999 + "a"], [" " * 1000]),
        ({"format": "regex", "maxLength": 4_000}, ["(a|b)" + "c" * 3_995], ["(", "c" * 4_001]),
        ({"format": "email", "minLength": 3, "maxLength": 1_000}, ["a@b.c"], ["a@"]),
        ({"not": {"format": "uri", "maxLength": 3_000}}, ["x"], ["urn:%41", "urn:x"]),
        ({"pattern": "^[a-z]{0,9000}$", "not": {"const": "ab"}}, ["a", "abc"], ["ab", "a" * 9_001]),
    ],
)  # fmt: skip
def test_a_large_bound_beside_a_pattern_costs_no_states(schema, accepts, rejects):
    grammar = compile_grammar(
        JsonSchema(json.dumps({"type": "string", **schema})), byte_vocabulary()
    )

    def is_accepted(text: str) -> bool:
        matcher = grammar.matcher()
        spelled = json.dumps(text, ensure_ascii=False).encode()
        return all(matcher.accept_token(byte) for byte in spelled) and matcher.is_complete

    assert [text for text in accepts if not is_accepted(text)] == []
    assert [text for text in rejects if is_accepted(text)] == []


def test_a_pattern_that_is_large_as_json_is_read_in_pieces():
    hidden = {"type": "array", "items": {"type": "string", "pattern": "^.{0,200}foo.{0,200}$"}}
    grammar = compile_grammar(JsonSchema(json.dumps(hidden)), byte_vocabulary())

    def is_accepted(text: str) -> bool:
        matcher = grammar.matcher()
        return all(map(matcher.accept_token, json.dumps([text]).encode())) and matcher.is_complete

    assert is_accepted("x" * 200 + "foo" + "y" * 200)
    assert not is_accepted("x" * 201 + "foo")
    assert is_accepted("foo" * 67 + "y" * 200)
    assert not is_accepted("fo" * 100)


def one_of_two_objects(*strings: dict[str, object]) -> JsonSchema:
    """Alternatives that go on side by side after `a`, until the key tells them apart."""
    options = [
        {"properties": {"a": strings[i], key: {"type": "null"}}, "required": ["a", key]}
        for i, key in enumerate("bc")
    ]
    closed: dict[str, object] = {"type": "object", "additionalProperties": False}
    return JsonSchema.from_value({"items": {"anyOf": [{**closed, **option} for option in options]}})


def test_small_bounds_of_strings_that_meet_are_each_kept():
    strings = {"type": "string", "maxLength": 3}, {"type": "string", "minLength": 2}
    grammar = compile_grammar(one_of_two_objects(*strings), byte_vocabulary())

    def is_accepted(text: str) -> bool:
        matcher = grammar.matcher()
        return all(map(matcher.accept_token, text.encode())) and matcher.is_complete

    found = [
        (size, key)
        for size in range(6)
        for key in "bc"
        if is_accepted(json.dumps([{"a": "x" * size, key: None}]))
    ]
    assert found == [(0, "b"), (1, "b"), (2, "b"), (2, "c"), (3, "b"), (3, "c"), (4, "c"), (5, "c")]


def test_large_bounds_that_do_not_meet_are_counted_each():
    long, longer = {"type": "string", "maxLength": 9_000}, {"type": "string", "maxLength": 20_000}
    options = [
        {"type": "array", "prefixItems": [{"const": 1}, long]},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, longer]}}},
    ]
    compile_grammar(JsonSchema.from_value({"anyOf": options}), byte_vocabulary())
