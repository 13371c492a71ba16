"""Every backend enforces what it takes, refuses the rest by name, and keeps the rules on tokens."""

from __future__ import annotations

import json
import random
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from grammars.backends.base import BACKEND_NAMES, get_backend
from grammars.errors import BackendError, GrammarError, UnsupportedError
from grammars.spec import Choice, JsonObject, JsonSchema, Literal, Regex, Structure
from tests.support.official_suite import suite_groups
from tests.support.shared_data import shared_file

TABLE = Path(__file__).parents[2] / "data/peer_keywords.toml"
CASES = tomllib.loads(TABLE.read_text())["case"]
PEERS = tuple(name for name in BACKEND_NAMES if name != "tightrope")

# How many rows of the table each backend takes at least; fewer is a lost feature.
NUM_TAKEN = {"tightrope": 82, "xgrammar": 51, "outlines": 30, "llguidance": 83, "fsm-reference": 38}

PERSON = JsonSchema(
    '{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},'
    '"required":["name"],"additionalProperties":false}',
    "compact",
)


def allowed_ids(matcher, vocabulary) -> list[int]:
    row = np.full(vocabulary.num_words, -1, np.int32)
    matcher.fill_bitmask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


@pytest.fixture(params=BACKEND_NAMES)
def backend(request):
    return get_backend(request.param)


def test_a_backend_judges_every_schema_right_that_it_takes(backend, vocabulary, accepts):
    num_taken = 0
    for case in CASES:
        try:
            compiled = backend.compile(JsonSchema(case["schema"], "compact"), vocabulary)
        except GrammarError:
            continue
        num_taken += 1
        for text in case["invalid"]:
            assert not accepts(compiled, text), (case["schema"], text)
        if case["schema"] == '{"type":"number"}' and backend.name == "outlines":
            continue  # no way from the complete `1` through `1.` to `1.5`: see its docstring
        for text in case["valid"]:
            assert accepts(compiled, text), (case["schema"], text)
    assert num_taken >= NUM_TAKEN[backend.name]


@pytest.mark.parametrize("draft", ["2020-12", "7"])
def test_a_backend_accepts_nothing_invalid_of_the_official_suite(
    backend, draft, vocabulary, accepts
):
    shared_file(f"json-schema-test-suite/draft{draft}.json.gz")
    wrong = []
    for group in suite_groups(draft):
        if group["file"] == "optional/content.json":
            continue  # content keywords only annotate (JSON Schema Validation 2020-12, section 8)
        try:
            compiled = backend.compile(
                JsonSchema.from_value(group["schema"], whitespace="compact"), vocabulary
            )
        except GrammarError:
            continue
        for test in group["tests"]:
            text = json.dumps(test["data"], ensure_ascii=False, separators=(",", ":"))
            if not test["valid"] and accepts(compiled, text):
                wrong.append((group["schema"], text))
    assert wrong == []


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        (r"\d{2}-[a-c]+", ["12-abc"], ["1-a", "12-", "١٢-a", "12-abcd"]),
        (r"^(?:yes|no)$", ["yes", "no"], ["ye", "yesno", " yes"]),
        (r"[^\n]é.", ["xéy"], ["\néy", "xé\n", "xey"]),
        (r"(a|b){2,3}\.", ["ab.", "bbb."], ["a.", "abab.", "abx"]),
    ],
)
def test_a_regex_is_matched_as_a_whole(backend, vocabulary, accepts, pattern, valid, invalid):
    compiled = backend.compile(Regex(pattern), vocabulary)
    assert [text for text in valid if not accepts(compiled, text)] == []
    assert [text for text in invalid if accepts(compiled, text)] == []


def test_choices_are_literal(backend, vocabulary, accepts):
    options = ("Jane (x|y)", "a\\b", "é", "[0-9]+", "John")
    compiled = backend.compile(Choice(options), vocabulary)
    assert all(accepts(compiled, option) for option in options)
    assert not any(accepts(compiled, text) for text in ("Jane x", "a", "1", "Joh", "Johnn", ""))


@pytest.mark.parametrize("name", ["tightrope", "xgrammar", "llguidance"])
def test_a_json_object_has_an_object_at_its_root(name, vocabulary, accepts):
    compiled = get_backend(name).compile(JsonObject("compact"), vocabulary)
    assert accepts(compiled, '{"a":[1,{"b":null}]}')
    assert not any(accepts(compiled, text) for text in ("[1]", "3", '"x"', '{"a":}'))


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("tightrope", ['{"name":"x","age":1}', '{"name": "x", "age": 1}']),
        ("llguidance", ['{"name":"x","age":1}', '{"name": "x", "age": 1}']),
        ("xgrammar", ['{"name": "x", "age": 1}']),
        ("outlines", ['{"name":"x","age":1}']),
    ],
)
def test_single_whitespace_is_written_as_the_peer_declares(name, texts, vocabulary, accepts):
    compiled = get_backend(name).compile(JsonSchema(PERSON.text, "single"), vocabulary)
    spellings = [
        '{"name":"x","age":1}', '{"name": "x", "age": 1}', '{ "name":"x","age":1}',
        '{"name" :"x","age":1}', '{"name":"x" ,"age":1}', '{"name":  "x"}', '{"name":"x"}\n',
    ]  # fmt: skip
    assert [text for text in spellings if accepts(compiled, text)] == texts


@pytest.mark.parametrize("spec", [PERSON, Regex("[^a]{0,3}b?"), Choice(("ab", "true"))])
def test_masks_hold_no_control_padding_or_early_end_token(backend, spec, vocabulary):
    compiled = backend.compile(spec, vocabulary)
    draw = random.Random(7)
    for _ in range(20):
        matcher = compiled.matcher()
        for _ in range(30):
            allowed = allowed_ids(matcher, vocabulary)
            ends = set(allowed) & set(vocabulary.end_token_ids)
            assert allowed
            assert ends == (set(vocabulary.end_token_ids) if matcher.is_complete else set())
            assert set(allowed) - ends <= vocabulary.token_bytes.keys()
            assert matcher.accept_token(draw.choice(allowed))
            if matcher.is_terminated:
                break


@pytest.mark.parametrize("spec", [PERSON, Regex("a(b|12)*é"), Choice(("ab", "a1"))])
def test_a_mask_holds_exactly_the_tokens_that_are_accepted(backend, spec, vocabulary):
    matcher = backend.compile(spec, vocabulary).matcher()
    draw = random.Random(3)
    for _ in range(12):
        allowed = allowed_ids(matcher, vocabulary)
        accepted = []
        for token_id in range(vocabulary.padded_size):
            if matcher.accept_token(token_id):
                accepted.append(token_id)
                matcher.rollback(1)
        if backend.name == "llguidance" and matcher.forced_tokens():
            # Where text is forced it allows only the tokenizer's own cut of it.
            assert set(allowed) <= set(accepted)
        else:
            assert accepted == allowed
        matcher.accept_token(draw.choice(allowed))
        if matcher.is_terminated:
            return


def test_rollback_undoes_text_and_end_tokens(backend, vocabulary):
    matcher = backend.compile(PERSON, vocabulary).matcher()
    masks = [allowed_ids(matcher, vocabulary)]
    token_ids = [*vocabulary.encode(b'{"name":"ab"}'), vocabulary.end_token_ids[1]]
    for token_id in token_ids:
        assert matcher.accept_token(token_id)
        masks.append(allowed_ids(matcher, vocabulary))
    assert matcher.is_terminated
    assert masks[-1] == []
    matcher.rollback(3)
    assert allowed_ids(matcher, vocabulary) == masks[-4]
    matcher.rollback(len(token_ids) - 3)
    assert allowed_ids(matcher, vocabulary) == masks[0]


def test_an_end_token_is_refused_before_the_text_is_complete(backend, vocabulary):
    matcher = backend.compile(PERSON, vocabulary).matcher()
    assert not any(map(matcher.accept_token, vocabulary.end_token_ids))
    assert allowed_ids(matcher, vocabulary)


@pytest.mark.parametrize(
    ("pattern", "text", "is_terminated"),
    [("ab", "ab", True), ("ab*", "ab", False), ("ab?", "a", False)],
)
def test_a_text_that_cannot_go_on_is_terminated(backend, vocabulary, pattern, text, is_terminated):
    matcher = backend.compile(Regex(pattern), vocabulary).matcher()
    for token_id in vocabulary.encode(text.encode()):
        assert matcher.accept_token(token_id)
    assert matcher.is_complete
    assert matcher.is_terminated is is_terminated


@pytest.mark.parametrize("name", ["tightrope", "xgrammar", "llguidance", "fsm-reference"])
def test_forced_text_is_told_until_there_is_a_choice(name, vocabulary):
    matcher = get_backend(name).compile(PERSON, vocabulary).matcher()
    forced = matcher.forced_tokens()
    text = b"".join(vocabulary.token_bytes[token_id] for token_id in forced)
    # A backend may leave the end of the forced text to a token that also holds what follows it.
    assert text in (b'{"name":"', b'{"name":')
    assert all(map(matcher.accept_token, forced))
    for token_id in vocabulary.encode(b'{"name":"x')[len(forced) :]:
        assert matcher.accept_token(token_id)
    assert matcher.forced_tokens() == []


def test_matchers_of_one_grammar_do_not_disturb_each_other(backend, vocabulary):
    compiled = backend.compile(PERSON, vocabulary)
    first, second = compiled.matcher(), compiled.matcher()
    at_start = allowed_ids(second, vocabulary)
    for token_id in vocabulary.encode(b'{"na'):
        assert first.accept_token(token_id)
    assert allowed_ids(second, vocabulary) == at_start
    assert compiled.memory_bytes > 0


@pytest.mark.parametrize("name", PEERS)
def test_structures_are_refused_by_name(name, vocabulary):
    with pytest.raises(UnsupportedError) as error:
        get_backend(name).compile(Structure(Literal("x")), vocabulary)
    assert str(error.value) == (
        f"(root): structures are not enforced by the {name} backend; use the tightrope backend"
    )


@pytest.mark.parametrize(
    ("name", "schema", "message"),
    [
        ("xgrammar", '{"type":"array","uniqueItems":true}',
         "(root): keyword 'uniqueItems' is not enforced by the xgrammar backend; "),
        ("xgrammar", '{"type":"array","items":{"not":{}}}',
         "/items: keyword 'not' is not enforced by the xgrammar backend; "),
        ("xgrammar", '{"type":"string","pattern":"a","maxLength":3}',
         "(root): 'pattern' together with 'maxLength' is not enforced by the xgrammar backend; "),
        ("xgrammar", '{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"minimum":1}}}',
         "/$defs/a~1b: 'minimum' without 'type' integer or number is not enforced by the "),
        ("xgrammar", '{"type":"object","properties":{"a":{}}}',
         "(root): 'properties' without 'additionalProperties' false is not enforced by the "),
        ("llguidance", '{"type":"string","format":"date"}',
         "(root): format 'date' is not enforced by the llguidance backend; "),
        ("llguidance", '{"type":"string","pattern":"^(?=a)"}',
         "(root): a lookaround inside the pattern is not enforced by this backend; "),
        ("llguidance", '{"const":"\\u0001"}',
         "(root): a control character in a key or constant is not enforced by the "),
        ("outlines", '{"type":"array","items":{"$ref":"#"}}',
         "(root): a recursive schema is not enforced by the outlines backend; "),
        ("outlines", '{"type":"array"}',
         "(root): a value without a schema is not enforced by the outlines backend; "),
        ("xgrammar", '{"$ref":"#foo","$defs":{"A":{"$anchor":"foo","type":"integer"}}}',
         "(root): $ref '#foo', which is no JSON Pointer, is not enforced by the xgrammar "),
        ("outlines", '{"$ref":"https://example.com/s.json"}',
         "(root): $ref 'https://example.com/s.json' leaves the document; "),
    ],
)  # fmt: skip
def test_what_a_peer_would_lose_is_refused_by_name(name, schema, message, vocabulary):
    with pytest.raises(UnsupportedError) as error:
        get_backend(name).compile(JsonSchema(schema), vocabulary)
    assert str(error.value).startswith(message)


def test_an_unknown_backend_is_refused_with_the_names_that_there_are():
    with pytest.raises(BackendError) as error:
        get_backend("guidance")
    assert str(error.value) == (
        "no grammar backend 'guidance'; there are "
        "tightrope, xgrammar, outlines, llguidance, fsm-reference"
    )


@pytest.mark.parametrize(
    ("name", "module", "distribution"),
    [
        ("xgrammar", "xgrammar", "xgrammar"),
        ("outlines", "outlines_core", "outlines-core"),
        ("llguidance", "llguidance", "llguidance"),
        ("fsm-reference", "interegular", "interegular"),
    ],
)
def test_a_missing_library_is_told_with_the_pip_line(monkeypatch, name, module, distribution):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BackendError) as error:
        get_backend(name)
    assert str(error.value) == (
        f"this grammar backend needs {distribution}: pip install {distribution}"
    )
