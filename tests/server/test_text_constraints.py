"""What binds the text of an answer, alone, behind thoughts and beside calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.config import ServerConfig
from tests.support.calls import spelled_call
from tests.support.chat_asking import NUMBER, F, choice_of, error_of, post
from tests.support.chat_server import OPEN_THINKING_TEMPLATE, THINKING_TEMPLATE, make_services
from tests.support.structural_tags import LEGACY_TAG, SEQUENCE_TAG, TRIGGERED_TAG

GRAMMAR = 'root ::= "a" root | "b"'


@pytest.mark.parametrize(
    ("tag", "accepted", "refused"),
    [
        (LEGACY_TAG, ["hi", 'a <f=a>{"n": 1}</f> b', "<f"], ["<f=b>", '<f=a>{"n": "x"}</f>']),
        (SEQUENCE_TAG, ["<t>hm</t>yes", "<t></t>12[true];[false]"], ["yes", "<t>hm</t>no"]),
        (TRIGGERED_TAG, ["hi", "a<f1>x</f1>b", "<f2> < </f2>"], ["<f3>", "<f1>x</f1><f2>"]),
    ],
)
@pytest.mark.parametrize("field", ["response_format", "structured_outputs", "as text"])
def test_structural_tags_bind_what_stands_in_them(tag, accepted, refused, field):
    fields: Any = {
        "response_format": {"response_format": tag},
        "structured_outputs": {"structured_outputs": {"structural_tag": tag}},
        "as text": {"structured_outputs": {"structural_tag": json.dumps(tag)}},
    }[field]
    for text in accepted if field == "response_format" else accepted[:1]:
        assert choice_of(make_services(text), **fields)["message"]["content"] == text
    for text in refused if field == "response_format" else refused[:1]:
        assert post(make_services(text), **fields).status_code == 500  # the script is held to it


@pytest.mark.parametrize(
    "fields",
    [
        {"grammar": 'root ::= "a" [0-9]+'},
        {"guided_grammar": 'root ::= "a" [0-9]+'},
        {"structured_outputs": {"grammar": 'start: "a" /[0-9]+/'}},
        {"response_format": {"type": "grammar", "grammar": 'start: "a" /[0-9]+/'}},
        {"response_format": {"type": "regex", "pattern": "a[0-9]+"}},
        {"json_schema": {"const": "a12"}},
    ],
)
def test_grammars_of_every_kind_bind_the_text(fields):
    text = '"a12"' if "json_schema" in fields else "a12"
    services = make_services(text)
    assert choice_of(services, **fields)["message"]["content"] == text
    assert services.engine.requests[0].constraint is not None


@pytest.mark.parametrize(("pattern", "status"), [("a)|(b", 400), ("a|b", 200)])
def test_a_pattern_beside_bare_calls_is_one_by_itself(pattern, status):
    """It stands in brackets there, which `a)|(b` would close and open again."""
    services = make_services("b", config=ServerConfig(tool_format="json"))
    fields = {"tools": [F], "response_format": {"type": "regex", "pattern": pattern}}
    response = post(services, **fields)
    assert response.status_code == status
    if status == 400:
        assert response.json()["error"]["message"] == (
            "Invalid pattern for response_format: the pattern is malformed at offset 1: "
            "')' closes no group"
        )


@pytest.mark.parametrize(
    ("template", "text", "fields"),
    [
        (OPEN_THINKING_TEMPLATE, "hm</think>\n\naab", {}),
        (THINKING_TEMPLATE, "<think>hm</think>\n\naab", {}),
        (THINKING_TEMPLATE, "aab", {}),
        (THINKING_TEMPLATE, "aab", {"tools": [F]}),
        (THINKING_TEMPLATE, spelled_call("f", '{"n": 1}'), {"tools": [F]}),
    ],
)
def test_a_grammar_holds_behind_thoughts_and_beside_calls(template, text, fields):
    message = choice_of(make_services(text, template=template), grammar=GRAMMAR, **fields)[
        "message"
    ]
    assert message["content"] == (None if "tool_call" in text else "aab")
    assert post(make_services(text + "c", template=template), grammar=GRAMMAR).status_code == 500


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"guided_regex": r"\{.*\}"}, '{"name": "g", "parameters": {"x": 1}}'),
        ({"response_format": {"type": "json_object"}}, '{"name": "g", "parameters": {"x": 1}}'),
        ({"guided_choice": ["a", '{"name": "g", "parameters": {"x": 1}}']}, None),
        ({"grammar": GRAMMAR}, None),
        ({"response_format": LEGACY_TAG}, None),
    ],
)
def test_a_text_that_would_be_read_as_a_bare_call_is_left_out_or_refused(fields, text):
    config = ServerConfig(tool_format="llama3_json")
    tools = [{"type": "function", "function": {"name": "g"}}]
    response = post(make_services(text or "ok", config=config), tools=tools, **fields)
    if text is None:
        assert response.status_code == 400
        assert "could not be told from such a text" in response.json()["error"]["message"]
        return
    assert response.status_code == 500  # the script is held to the grammar
    other = make_services('{"other": 1}', config=config)
    assert choice_of(other, tools=tools, **fields)["message"]["content"] == '{"other": 1}'


def test_a_json_object_may_have_a_schema():
    services = make_services(None)
    choice = choice_of(services, response_format={"type": "json_object", "schema": NUMBER})
    assert json.loads(choice["message"]["content"]).keys() == {"n"}
    error = error_of(response_format={"type": "json_object", "schema": {"type": "nothing"}})
    assert error["param"] == "response_format"
    assert "type" in error["message"]
