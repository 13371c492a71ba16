"""`tightrope check`: verdicts, reasons, hints and exit codes."""

from __future__ import annotations

import io
import json

import pytest

from grammars.errors import UnsupportedError
from grammars.spec import JsonSchema
from server.cli import main
from server.commands.check_examples import find_wrong_examples
from server.commands.check_hints import HintKind, find_hints
from server.commands.check_keywords import KeywordUse, list_keywords
from server.commands.check_refusals import RefusalKind, find_refusals
from server.commands.check_report import CheckVerdict, check_spec
from tests.support.tokenizers import tiny_vocabulary

POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 9}, "on": {"type": "boolean"}},
    "required": ["x", "on"],
    "additionalProperties": False,
}


@pytest.fixture
def check(tiny_folder, tmp_path, capsys):
    """Write a file, check it; the exit code, what was printed, and what went wrong."""

    def run(content: str | bytes, *arguments: str, suffix: str = ".json"):
        path = tmp_path / f"given{suffix}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        status = main(["check", str(path), "--tokenizer", str(tiny_folder), *arguments])
        output = capsys.readouterr()
        return status, output.out, output.err

    return run


def report_of(schema: object):
    return check_spec(JsonSchema.from_value(schema), tiny_vocabulary())


def test_an_exact_schema_is_told_with_its_cost_and_keywords(check):
    status, out, _ = check(json.dumps(POINT))
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == "This is enforced completely: no output can violate it."
    assert "first token: 1 of 262 are allowed" in lines  # the opening brace
    assert "  enforced  type                   (root), /properties/x, /properties/on" in lines
    assert "hints:" not in lines


@pytest.mark.parametrize(
    ("suffix", "content", "first_tokens"),
    [
        (".regex", "[ab]c\n", 2),
        (".gbnf", 'root ::= "yes" | "no"', 2),
        (".lark", 'start: "yes" | "no"', 2),
    ],
)
def test_the_suffix_says_what_a_file_is(check, suffix, content, first_tokens):
    status, out, _ = check(content, "--json", suffix=suffix)
    report = json.loads(out)
    assert status == 0
    assert report["verdict"] == "exact"
    assert report["cost"]["first_tokens"] >= first_tokens
    assert report["keywords"] == report["hints"] == []


@pytest.mark.parametrize("suffix", [".regex", ".gbnf", ".lark"])
def test_a_grammar_that_is_refused_says_why(check, suffix):
    status, out, _ = check("(", suffix=suffix)
    assert status == 1
    first, reason, *_ = out.splitlines()
    assert first == "This is refused:"
    assert len(reason) > 10


def test_standard_input_is_a_schema(tiny_folder, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"true")))
    assert main(["check", "-", "--tokenizer", str(tiny_folder)]) == 0
    assert "enforced completely" in capsys.readouterr().out


def test_a_byte_order_mark_is_no_part_of_a_schema(check):
    assert check("true".encode("utf-8-sig"))[0] == 0


def test_a_schema_is_drawn_and_a_grammar_is_not(check, tmp_path):
    drawing = tmp_path / "point.dot"
    assert check(json.dumps(POINT), "--dot", str(drawing))[0] == 0
    assert drawing.read_text().startswith("digraph grammar {")
    status, _, err = check('root ::= "a"', "--dot", str(drawing), suffix=".gbnf")
    assert status == 2
    assert err == (
        "tightrope: --dot draws schemas and regexes, not .gbnf and .lark; leave it out\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"title": "é"}'.encode("latin-1"), "byte 11 is not UTF-8, as JSON must be"),
        (b'{"minimum": 1, "minimum": 2}', "not JSON: an object has the key 'minimum' twice"),
        (b'{"minimum": NaN}', "not JSON: NaN is no number of JSON"),
        (b"{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2"),
    ],
)
def test_a_file_that_cannot_be_read_ends_with_2(check, content, message):
    status, out, err = check(content)
    assert (status, out) == (2, "")
    assert err.startswith("tightrope: ")
    assert message in err


def test_a_missing_file_ends_with_2(tiny_folder, tmp_path, capsys):
    missing = tmp_path / "missing.json"
    assert main(["check", str(missing), "--tokenizer", str(tiny_folder)]) == 2
    assert capsys.readouterr().err == (f"tightrope: {missing}: No such file or directory\n")


BACKREFERENCE = {"type": "string", "pattern": "(a)\\1"}
REMOTE = {"$ref": "http://example.com/schema"}


def test_every_refusal_is_told_and_not_only_the_first(check):
    schema = {"type": "object", "properties": {"a": BACKREFERENCE, "b": REMOTE, "c": BACKREFERENCE}}
    status, out, _ = check(json.dumps(schema))
    assert status == 1
    lines = out.splitlines()
    assert lines[0] == "This is refused:"
    assert {line.split(":")[0].strip() for line in lines[1:4]} == {
        "/properties/a", "/properties/b", "/properties/c",
    }  # fmt: skip
    assert "there may be more" not in out
    assert "  refused   pattern                /properties/a, /properties/c" in lines


def test_a_refusal_has_kind_place_keyword_and_reason():
    report = report_of({"properties": {"a": REMOTE}})
    (refusal,) = report.refusals.found
    assert report.verdict is CheckVerdict.REFUSED
    assert refusal.kind is RefusalKind.UNSUPPORTED
    assert (refusal.pointer, refusal.keyword) == ("/properties/a", "$ref")
    assert refusal.reason.startswith("$ref 'http://example.com/schema' leaves the document")
    assert report.refusals.are_all
    assert report.cost is None


def test_a_malformed_keyword_is_a_refusal_of_its_kind():
    report = report_of({"properties": {"a": {"minLength": -1}, "b": {"type": "txt"}}})
    assert report.verdict is CheckVerdict.REFUSED
    assert {one.kind for one in report.refusals.found} == {RefusalKind.INVALID}
    assert {one.pointer for one in report.refusals.found} == {"/properties/a", "/properties/b"}


def test_what_nothing_satisfies_is_its_own_verdict(check):
    schema = {"type": "integer", "minimum": 2, "maximum": 1}
    status, out, _ = check(json.dumps(schema))
    assert status == 1
    assert out.splitlines()[0] == "This is refused, since no text satisfies it:"
    assert report_of(schema).verdict is CheckVerdict.UNSATISFIABLE


def test_where_no_keyword_can_be_left_out_there_may_be_more():
    report = report_of({"properties": {"a": REMOTE}, "type": "integer", "minimum": 2, "maximum": 1})
    assert [one.kind for one in report.refusals.found][-1] is RefusalKind.UNSATISFIABLE
    assert not report.refusals.are_all


def test_the_schema_given_is_not_changed_by_looking_for_refusals():
    schema = {"properties": {"a": dict(BACKREFERENCE)}}
    first = UnsupportedError("no", pointer="/properties/a", keyword="pattern")
    rest: list[str] = []
    find_refusals(schema, first, rest.append)
    assert [json.loads(text) for text in rest] == [{"properties": {"a": {"type": "string"}}}]
    assert schema == {"properties": {"a": BACKREFERENCE}}


def test_every_keyword_is_listed_with_its_place():
    schema = {
        "title": "t",
        "properties": {"a/b": {"minLenght": 1}, "c": True},
        "anyOf": [{"const": {"type": "no keyword"}}, {"items": {"pattern": "a"}}],
    }
    listed = [(one.pointer, one.keyword, one.use) for one in list_keywords(schema, {("", "anyOf")})]
    assert listed == [
        ("", "title", KeywordUse.ANNOTATION),
        ("", "properties", KeywordUse.ENFORCED),
        ("", "anyOf", KeywordUse.REFUSED),
        ("/anyOf/0", "const", KeywordUse.ENFORCED),
        ("/anyOf/1", "items", KeywordUse.ENFORCED),
        ("/anyOf/1/items", "pattern", KeywordUse.ENFORCED),
        ("/properties/a~1b", "minLenght", KeywordUse.UNKNOWN),
    ]


STRING = {"type": "string", "maxLength": 9}


@pytest.mark.parametrize(
    ("schema", "hints"),
    [
        ({"requried": ["a"]}, [("misspelt_keyword", "", "did you mean 'required'?")]),
        (
            {"additionalproperties": False},
            [("misspelt_keyword", "", "did you mean 'additionalProperties'?")],
        ),
        ({"x-format": "a", "_format": "a", "nullable": True}, []),
        ({"properties": {"requried": STRING}}, []),  # a key, not a keyword
        (
            {"properties": {"a": STRING}, "required": ["a", "b"]},
            [("undeclared_required", "", "the required key 'b' is not in 'properties'")],
        ),
        ({"properties": {}, "patternProperties": {"b": STRING}, "required": ["b"]}, []),
        (
            {"properties": {"answer": STRING, "reasoning": STRING}},
            [("reasoning_after_answer", "", "so 'reasoning' comes after 'answer'")],
        ),
        ({"properties": {"reasoning": STRING, "answer": STRING}}, []),
        (
            {"items": {"enum": ["other", "cat"]}, "maxItems": 3},
            [("catch_all_early", "/items", "'other' stands before other values")],
        ),
        ({"enum": ["cat", "other"]}, []),
        ({"enum": list(range(1001))}, [("large_enum", "", "1,001 values")]),
        ({"enum": list(range(1000))}, []),
        (
            {"properties": {"a": {"type": ["string", "null"]}}},
            [("unbounded_string", "/properties/a", "without 'maxLength'")],
        ),
        ({"type": "string", "pattern": "^a$"}, []),
        ({"not": {"type": "string"}}, []),
        ({"type": "array", "items": STRING}, [("unbounded_array", "", "without 'maxItems'")]),
        ({"type": "array", "prefixItems": [STRING], "items": False}, []),
        ({"type": "array", "maxItems": 2}, []),
        (True, []),
    ],
)
def test_hints(schema, hints):
    found = find_hints(schema)
    assert [(one.kind.value, one.pointer) for one in found] == [hint[:2] for hint in hints]
    for one, (*_, part) in zip(found, hints, strict=True):
        assert part in one.message


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ({"type": "integer", "default": "1"}, ["\"1\" in 'default'"]),
        ({"type": "integer", "default": 1.0, "examples": [2, None]}, ["null in 'examples'"]),
        (  # keys may stand in any order in an example
            {
                "properties": {"a": {"type": "integer"}, "b": {"type": "null"}},
                "default": {"b": None, "a": 1},
                "examples": [{"b": 1}],
            },
            ["{\"b\": 1} in 'examples'"],
        ),
        (  # references are followed from the place of the example
            {
                "$defs": {"short": {"maxLength": 2}},
                "properties": {"a": {"$ref": "#/$defs/short", "default": "abc"}},
            },
            ["\"abc\" in 'default'"],
        ),
        (
            {
                "$id": "http://example.com/root",
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"short": {"maxLength": 2}},
                "properties": {
                    "a/é": {"allOf": [{"$ref": "#/definitions/short"}], "default": "abc"}
                },
            },
            ["\"abc\" in 'default'"],
        ),
        ({"$defs": {"unused": {"$ref": "http://example.com/x", "default": 1}}}, []),
        ({"maxLength": 2, "default": "é\n"}, []),
    ],
)
def test_examples_that_cannot_be_written_are_hinted_at(schema, wrong):
    found = find_wrong_examples(schema, tiny_vocabulary())
    assert [one.kind for one in found] == [HintKind.INVALID_EXAMPLE] * len(wrong)
    for one, start in zip(found, wrong, strict=True):
        assert one.message.startswith(start)


def test_hints_fail_only_when_asked_to(check):
    text = json.dumps({"requried": ["a"]})
    assert check(text)[0] == 0
    status, out, _ = check(text, "--strict-hints")
    assert status == 1
    assert "  (root): 'requried' is no keyword and restricts nothing; did you mean" in out
    assert check(json.dumps(POINT), "--strict-hints")[0] == 0


def test_the_json_report_is_stable(check, tiny_folder):
    schema = {"type": "string", "maxLenght": 3, "default": 1}
    report = json.loads(check(json.dumps(schema), "--json")[1])
    cost = report.pop("cost")
    assert list(cost) == [
        "compile_ms", "first_mask_ms", "prepare_ms", "states", "memory_bytes", "first_tokens",
    ]  # fmt: skip
    assert all(value > 0 for value in cost.values())
    assert report == {
        "version": 1,
        "verdict": "exact",
        "refusals": [],
        "are_all_refusals": True,
        "tokenizer": str(tiny_folder),
        "keywords": [
            {"pointer": "", "keyword": "type", "use": "enforced"},
            {"pointer": "", "keyword": "maxLenght", "use": "unknown"},
            {"pointer": "", "keyword": "default", "use": "annotation"},
        ],
        "hints": [
            {
                "kind": "misspelt_keyword",
                "pointer": "",
                "message": "'maxLenght' is no keyword and restricts nothing; did you mean "
                "'maxLength'?",
            },
            {
                "kind": "unbounded_string",
                "pointer": "",
                "message": "a string without 'maxLength' may run until the token limit; bound it",
            },
            {
                "kind": "invalid_example",
                "pointer": "",
                "message": "1 in 'default' cannot be written under this schema; mend either",
            },
        ],
    }


def test_the_json_report_of_a_refusal(check):
    status, out, _ = check(json.dumps({"properties": {"a": {"minLength": -1}}}), "--json")
    report = json.loads(out)
    assert status == 1
    assert (report["verdict"], report["cost"]) == ("refused", None)
    (refusal,) = report["refusals"]
    assert refusal["kind"] == "invalid"
    assert (refusal["pointer"], refusal["keyword"]) == ("/properties/a", "minLength")


def test_an_unknown_tokenizer_is_no_refusal(tmp_path, capsys):
    path = tmp_path / "point.json"
    path.write_text(json.dumps(POINT))
    assert main(["check", str(path), "--tokenizer", "smolm2-135m"]) == 2
    assert capsys.readouterr().err.startswith(
        "tightrope: model 'smolm2-135m': did you mean 'smollm2-135m'? "
    )
