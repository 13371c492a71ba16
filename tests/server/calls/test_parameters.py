r"""Arguments in blocks: what may stand in each, and what is read from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammars.spec import Cfg
from server.calls.formats import QWEN3_CODER
from server.calls.grammar import calls_part
from server.calls.tool import CallableTool, ToolKind
from server.chat.reply_format import ReplyFormat
from server.reply.parser import ReplyParser
from server.request_errors import InvalidToolError
from tests.support.folding import fold
from tests.support.grammar_texts import TextJudge


def tool(value_schema: Any, **root: object) -> CallableTool:
    schema = {"type": "object", "properties": {"x": value_schema}, "required": ["x"]} | root
    return CallableTool("f", schema, param="tools[0].function.parameters")


def call(value: str) -> str:
    block = f"<parameter=x>\n{value}\n</parameter>"
    return f"<tool_call>\n<function=f>\n{block}\n</function>\n</tool_call>"


def read(called: CallableTool, value: str) -> Any:
    parser = ReplyParser(tools=[called], reply_format=ReplyFormat(QWEN3_CODER))
    events = [event for character in call(value) for event in parser.feed(character)]
    (made,) = fold(events + parser.finish()).calls
    assert made.is_complete
    return json.loads(made.arguments)["x"]


OPEN = {"anyOf": [{"$ref": "#/$defs/s"}, {"type": "null"}], "default": None}
DEFINITIONS = {"$defs": {"s": {"type": "string", "title": "S"}, "n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "values", "refused"),
    [
        (
            {"type": "string"},
            {"": "", "a\nb": "a\nb", "null": "null", "\n": "\n", '"q"': '"q"'},
            [],
        ),
        ({"type": "string", "description": "d"}, {"</parameter>": "</parameter>"}, []),
        (OPEN, {"null": None, "nul": "nul", "nulls": "nulls", "": ""}, []),
        ({"type": ["null", "string"]}, {"null": None, "a": "a"}, []),
        (
            {"anyOf": [{"const": "decision"}, {"const": "note"}]},
            {'"decision"': "decision"},
            ["decision", '"notes"'],
        ),
        ({"enum": ["a", "null"]}, {"a": "a", "null": "null"}, ["b", "", '"a"']),
        ({"type": "string", "const": "a b"}, {"a b": "a b"}, ["a", '"a b"']),
        ({"enum": ["a", "a\nb"]}, {'"a"': "a", '"a\\nb"': "a\nb"}, ["a", "a\nb"]),
        ({"enum": ["a", 1]}, {'"a"': "a", "1": 1}, ["a", "2"]),
        ({"$ref": "#/$defs/n"}, {"12": 12}, ["1.5", "x", "null"]),
        ({"type": "boolean"}, {"true": True}, ["True", '"true"']),
        ({"type": "string", "maxLength": 2}, {'"ab"': "ab", '"\\n"': "\n"}, ["ab", '"abc"']),
        ({"type": "string", "format": "date"}, {'"2024-02-29"': "2024-02-29"}, ['"2023-02-29"']),
        ({}, {"1": 1, '"a"': "a", '{"k": [1]}': {"k": [1]}}, ["a"]),
        (
            {"type": "object", "properties": {"k": {"$ref": "#/$defs/n"}}, "required": ["k"]},
            {'{"k": 1}': {"k": 1}},
            ['{"k": "1"}', "{}"],
        ),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"5": 5, '"5"': "5"}, ["five"]),
    ],
)
def test_b117_a_value_is_written_raw_where_that_is_exact_and_as_json_else(schema, values, refused):
    called = tool(schema, **DEFINITIONS)
    judge = TextJudge(calls_part(QWEN3_CODER, [called], max_calls=1))
    for text, value in values.items():
        assert judge.accepts(call(text)), text
        assert read(called, text) == value
    for text in refused:
        assert not judge.accepts(call(text)), text


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ({"minProperties": 1}, "/minProperties: arguments of this model are written one block"),
        ({"anyOf": [{"required": ["x"]}]}, "/anyOf: "),
        ({"properties": []}, "/properties: an object is needed"),
        ({"required": "x"}, "/required: an array is needed"),
        ({"additionalProperties": "no"}, "/additionalProperties: a schema is needed"),
        ({"properties": {"a>b": {}}, "required": []}, "the name 'a>b' cannot stand in a tag"),
        (
            {"properties": {"x": {"type": "array", "items": {"$ref": "#"}}}},
            "/properties/x: the reference '#' leaves the parameter",
        ),
    ],
)
def test_what_blocks_cannot_hold_is_refused_by_name(root, message):
    with pytest.raises(InvalidToolError) as caught:
        calls_part(QWEN3_CODER, [tool({"type": "string"}, **root)], max_calls=1)
    assert message in caught.value.message
    assert caught.value.param == "tools[0].function.parameters"


def test_required_parameters_cannot_be_left_out_and_others_can():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["b", "c"],
    }
    judge = TextJudge(calls_part(QWEN3_CODER, [CallableTool("f", schema)], max_calls=1))

    def blocks(*names: str) -> str:
        inner = "".join(f"<parameter={name}>\n1\n</parameter>\n" for name in names)
        return f"<tool_call>\n<function=f>\n{inner}</function>\n</tool_call>"

    assert judge.accepts(blocks("a", "b", "c"))
    assert judge.accepts(blocks("b", "c"))
    for names in (("a", "b"), ("b",), (), ("b", "a", "c"), ("b", "b", "c"), ("b", "c", "d")):
        assert not judge.accepts(blocks(*names)), names


def test_the_input_of_a_custom_tool_is_a_json_string_of_its_grammar():
    grammar = Cfg("lark", r'start: "x" /[0-9\n"]+/', in_json_string=True)
    custom = CallableTool("f", {}, kind=ToolKind.CUSTOM, input_grammar=grammar)
    judge = TextJudge(calls_part(QWEN3_CODER, [custom], max_calls=1))
    for value, accepted in (('"x1"', True), (r'"x\n\""', True), ('"y1"', False), ("x1", False)):
        text = call(value).replace("<parameter=x>", "<parameter=input>")
        assert judge.accepts(text) is accepted, value
    parser = ReplyParser(tools=[custom], reply_format=ReplyFormat(QWEN3_CODER))
    text = call(r'"x\n\""').replace("<parameter=x>", "<parameter=input>")
    (made,) = fold(parser.feed(text) + parser.finish()).calls
    assert (made.arguments, made.is_complete) == ('x\n"', True)
