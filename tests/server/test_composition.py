"""The composition table: thinking x calls x document, judged by whole texts of the real grammar."""

from __future__ import annotations

from functools import lru_cache

import pytest

from grammars.spec import JsonSchema, Structure
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.composition import compose
from server.document import requested_document
from server.tool_choice import tool_use
from server.wire.policy import parse_chat_request
from tests.support.grammar_texts import TextJudge

TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
DOCUMENT = '{"n": 1}'
A = '<tool_call>\n{"name": "a", "arguments": {"n": 1}}\n</tool_call>'
B = '<tool_call>\n{"name": "b", "arguments": {}}\n</tool_call>'
TOOLS = [
    {"type": "function", "function": {"name": "a", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "b"}},
]
FORMAT = {"type": "json_schema", "json_schema": {"name": "d", "schema": SCHEMA}}
NAMED_B = {"type": "function", "function": {"name": "b"}}
ALLOWED_B = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED_B]}}


def spec_of(thinking: Thinking = Thinking.NONE, **fields: object):
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}]} | fields
    request = parse_chat_request(body).request
    document = requested_document(request, max_choices=10, max_tags=100)
    spec = None if document is None else document.spec
    return compose(tool_use(request), spec, thinking, ReplyFormat())


@lru_cache(maxsize=64)
def judge_of(spec, controls: tuple[str, ...]) -> TextJudge:
    return TextJudge(spec.root, controls=controls)


def accepts(spec, text: str, controls: tuple[str, ...]) -> bool:
    judge = judge_of(spec, controls)
    pieces = [
        p if isinstance(p, int) else p.decode() for p in judge.vocabulary.split_controls(text)
    ]
    return judge.accepts(pieces)


TABLE = [
    # fields, accepted, refused
    (
        {"tools": TOOLS},
        ["", "hi", A, B, f"hi {A}\n{B} there", "<b>"],
        [
            A.replace("1", '"x"'),
            A.replace('"a"', '"c"'),
            A[:-12],
            "hi <tool_call>",
            "<tool_call> is",
        ],
    ),
    ({"tools": TOOLS, "parallel_tool_calls": False}, ["hi", A, f"hi {B}"], [A + A, f"{A}\n{B}"]),
    (
        {"tools": TOOLS, "tool_choice": "required"},
        [A, f"{A}\n", f"{A}\n{B}", f"{B}\n{B}\n{A}"],
        ["", "hi", f"hi {A}", A + A, f"{A}\n\n", DOCUMENT],
    ),
    (
        {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False},
        [A, B],
        ["", f"{A}\n", f"{A}\n{B}"],
    ),
    ({"tools": TOOLS, "tool_choice": NAMED_B}, [B], [A, "", f"{B}\n{B}", "hi"]),
    ({"tools": TOOLS, "tool_choice": NAMED_B, "response_format": FORMAT}, [B], [A, DOCUMENT]),
    ({"tools": TOOLS, "tool_choice": ALLOWED_B}, [B, f"{B}\n{B}"], [A, ""]),
    (
        {"tools": TOOLS, "response_format": FORMAT},
        [DOCUMENT, A, f"{A}\n{B}"],
        ["", "hi", f"{DOCUMENT}{A}", f"{A}\n{DOCUMENT}", '{"n": "x"}'],
    ),
    (
        {"tools": TOOLS, "response_format": FORMAT, "parallel_tool_calls": False},
        [DOCUMENT, A],
        [f"{A}\n{B}"],
    ),
    ({"tools": TOOLS, "response_format": FORMAT, "tool_choice": "required"}, [A], [DOCUMENT]),
    (
        {"tools": TOOLS, "response_format": {"type": "json_object"}},
        ['{"x": [1]}', A],
        ["[1]", "hi"],
    ),
]


@pytest.mark.parametrize("controls", [(), TAGS], ids=["spelled tags", "token tags"])
@pytest.mark.parametrize(("fields", "accepted", "refused"), TABLE)
def test_an_answer_without_thoughts_follows_the_table(fields, accepted, refused, controls):
    spec = spec_of(**fields)
    for text in accepted:
        assert accepts(spec, text, controls), text
    for text in refused:
        assert not accepts(spec, text, controls), text


def test_b044_a_format_does_not_forbid_calls():
    spec = spec_of(tools=TOOLS, tool_choice="auto", response_format=FORMAT)
    assert accepts(spec, A, TAGS)
    assert accepts(spec, DOCUMENT, TAGS)
    assert not accepts(spec, "hi", TAGS)


@pytest.mark.parametrize("fields", [*(row[0] for row in TABLE), {"response_format": FORMAT}])
def test_b055_b060_thoughts_are_free_and_the_answer_behind_them_is_not(fields):
    """The grammar begins behind the first `</think>`, wherever tokens are cut."""
    by_fields = {id(row[0]): row for row in TABLE}
    row = by_fields.get(id(fields), (fields, [DOCUMENT], ["", "hi"]))
    gap = "" if "response_format" not in fields and not fields.get("tool_choice") else "\n\n"
    open_spec = spec_of(Thinking.OPEN, **fields)
    optional_spec = spec_of(Thinking.OPTIONAL, **fields)
    for text in row[1]:
        assert accepts(open_spec, f"\nhm {{ {gap}</think>{gap}{text}", TAGS), text
        assert accepts(optional_spec, f"<think>hm</think>{gap}{text}", TAGS), text
        assert accepts(optional_spec, text, TAGS), text
    for text in row[2]:
        assert not accepts(open_spec, f"hm</think>{gap}{text}", TAGS), text
        assert not accepts(optional_spec, f"<think>hm</think>{gap}{text}", TAGS), text
        assert not accepts(optional_spec, text, TAGS), text
    assert not accepts(open_spec, "never closed", TAGS)


def test_without_tools_and_formats_there_is_no_grammar():
    assert spec_of() is None
    assert spec_of(Thinking.OPEN) is None
    assert spec_of(response_format={"type": "text"}) is None
    assert spec_of(tools=TOOLS, tool_choice="none") is None


def test_a_document_alone_is_its_own_spec_so_that_its_cache_entry_is_shared():
    assert spec_of(response_format=FORMAT) == JsonSchema.from_value(SCHEMA)
    assert spec_of(
        tools=TOOLS, tool_choice="none", response_format=FORMAT
    ) == JsonSchema.from_value(SCHEMA)


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        {},
        {"type": "object"},
        {"properties": {}},
        {"type": "object", "properties": {}, "required": []},
        {"type": "object", "properties": {}, "additionalProperties": False},
    ],
)
def test_b045_a_tool_without_parameters_takes_the_empty_object_alone(parameters):
    tools = [{"type": "function", "function": {"name": "b", "parameters": parameters}}]
    spec = spec_of(tools=tools, tool_choice=NAMED_B)
    assert accepts(spec, B, TAGS)
    assert not accepts(spec, B.replace("{}", "{ }"), TAGS)
    assert not accepts(spec, B.replace("{}", '{"x": 1}'), TAGS)


LISTED = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("changes", "takes_others"),
    [
        ({}, False),
        ({"required": ["n"], "description": "d", "$defs": {"a": {}}}, False),
        ({"properties": {"n": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "integer"}}}, False),
        ({"additionalProperties": True}, True),
        ({"additionalProperties": {"type": "boolean"}}, True),
        ({"patternProperties": {"^x": {}}}, True),
        ({"required": ["n", "x"]}, True),
        ({"allOf": [{"properties": {"x": {"type": "boolean"}}}]}, True),
        ({"properties": {"n": {"anyOf": [{"type": "integer"}, {"not": {"$ref": "#"}}]}}}, True),
    ],
)
def test_calls_hold_the_listed_arguments_alone_unless_others_are_spoken_of(changes, takes_others):
    tools = [{"type": "function", "function": {"name": "a", "parameters": LISTED | changes}}]
    spec = spec_of(tools=tools, tool_choice="required")
    assert accepts(spec, A, TAGS) == ("x" not in (LISTED | changes).get("required", []))
    assert accepts(spec, A.replace('"n": 1', '"n": 1, "x": true'), TAGS) == takes_others


def test_parameters_in_a_list_are_read_as_properties():
    parameters = [{"name": "n", "type": "integer", "description": "d", "required": True}]
    tools = [{"type": "function", "function": {"name": "a", "parameters": parameters}}]
    spec = spec_of(tools=tools, tool_choice="required")
    assert accepts(spec, A, TAGS)
    assert not accepts(spec, A.replace("1", "true"), TAGS)


def test_b075_descriptions_do_not_change_the_language():
    text = 'quotes " \n ::= \\ <tool_call>'
    tools = [
        {
            "type": "function",
            "function": {
                "name": "a",
                "description": text,
                "parameters": SCHEMA | {"description": text},
            },
        }
    ]
    spec = spec_of(tools=tools, tool_choice="required")
    assert isinstance(spec, Structure)
    assert accepts(spec, A, TAGS)
    assert not accepts(spec, B, TAGS)
