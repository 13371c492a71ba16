"""Faults of other servers around grammars: refused with a 400, and the server goes on."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from grammars.backends.base import get_backend
from server.grammar_compiler import GrammarCompiler
from tests.support.chat_asking import USER, choice_of, post_constraint
from tests.support.chat_server import MODEL, make_services, running
from tests.support.scripted_engine import token_ids_of

GOOD_GRAMMAR = 'root ::= "a" | "b"'


def statuses(services: Any, *bodies: dict[str, Any]) -> list[int]:
    """Of several requests to one server, one after the other."""
    with running(services) as url:
        return [
            httpx.post(
                f"{url}/v1/chat/completions",
                json={"model": MODEL, "messages": USER} | body,
                timeout=60,
            ).status_code
            for body in bodies
        ]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(
            {"structured_outputs": {"grammar": 'root ::= "a"\nroot ::= "b"'}},
            id="B061 a grammar with two roots, after a good one",
        ),
        pytest.param(
            {"structured_outputs": {"grammar": 'start: "http://" NAME "#"'}},
            id="B127 a Lark grammar whose terminal is missing, not cut at its comment signs",
        ),
    ],
)
def test_what_cannot_be_compiled_is_a_400_and_the_next_request_works(fields):
    good = {"structured_outputs": {"grammar": GOOD_GRAMMAR}}
    services = make_services("a", "ok", "a")
    assert statuses(services, good, fields, {}, good) == [200, 400, 200, 200]


def test_b127_comment_signs_within_the_strings_of_a_lark_grammar_are_text():
    grammar = 'start: "http://" NAME "#" // a comment\nNAME: /[a-z]+/'
    text = "http://abc#"
    choice = choice_of(make_services(text), structured_outputs={"grammar": grammar})
    assert choice["message"]["content"] == text


def test_b065_a_backend_that_cannot_enforce_a_format_refuses_it():
    backend, services = get_backend("fsm-reference"), make_services("ok", "ok")
    vocabulary = services.vocabulary
    compiler = GrammarCompiler(
        lambda spec: backend.compile(spec, vocabulary), max_concurrent=1, max_waiting=8
    )
    object.__setattr__(services, "compiler", compiler)
    asked = {"response_format": {"type": "json_object"}}
    assert statuses(services, asked, {}) == [400, 200]


PARAMETERS: Any = {
    "type": "object",
    "$defs": {"unit": {"enum": ["C", "F"]}},
    "properties": {"unit": {"$ref": "#/$defs/unit"}},
    "required": ["unit"],
    "additionalProperties": True,
}


@pytest.mark.parametrize(
    ("arguments", "is_allowed"),
    [
        ('{"unit": "C"}', True),
        ('{"unit": "K"}', False),
        ('{"unit": "F", "more": [1]}', True),
        ("{}", False),
    ],
)
def test_b124_the_whole_schema_of_a_tool_binds_its_arguments(arguments, is_allowed):
    tool = {"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}
    matcher = post_constraint(tools=[tool], tool_choice="required")
    vocabulary = make_services().vocabulary
    text = '<tool_call>\n{"name": "f", "arguments": ' + arguments + "}\n"
    tokens = token_ids_of(vocabulary, text)
    assert all(matcher.accept_token(token) for token in tokens) is is_allowed
