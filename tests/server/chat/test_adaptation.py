"""Messages in the shapes that templates of several kinds render, without their templates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from server.calls.formats import HERMES, MISTRAL, QWEN3_CODER
from server.chat.abilities import TemplateAbilities
from server.chat.adaptation import with_calls, with_systems

ALL = TemplateAbilities(
    renders_tools=True,
    calls=HERMES,
    takes_arguments_as_text=False,
    takes_several_calls=True,
    takes_system=True,
    takes_several_systems=True,
)
BRIEF: Any = {"role": "system", "content": "Be brief."}
POLITE: Any = {"role": "system", "content": "Be polite."}
HELLO: Any = {"role": "user", "content": "hello"}
BOTH = "Be brief.\n\nBe polite."


def call(call_id: str, arguments: object) -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def said(*calls: dict[str, Any], content: str = "") -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": f"of {call_id}"}


@pytest.mark.parametrize(
    ("changes", "messages", "expected"),
    [
        ({}, [BRIEF, POLITE, HELLO], [BRIEF, POLITE, HELLO]),
        (
            {"takes_several_systems": False},
            [BRIEF, POLITE, HELLO],
            [{"role": "system", "content": BOTH}, HELLO],
        ),
        ({"takes_several_systems": False}, [BRIEF, HELLO, POLITE], [BRIEF, HELLO, POLITE]),
        (
            {"takes_system": False},
            [BRIEF, POLITE, HELLO],
            [{"role": "user", "content": f"{BOTH}\n\nhello"}],
        ),
        (
            {"takes_system": False},
            [BRIEF, said(content="hi")],
            [{"role": "user", "content": "Be brief."}, said(content="hi")],
        ),
        ({"takes_system": False}, [HELLO], [HELLO]),
    ],
)
def test_system_messages_are_kept_joined_or_put_before_the_question(changes, messages, expected):
    assert with_systems(messages, replace(ALL, **changes)) == expected


@pytest.mark.parametrize(
    ("syntax", "changes", "given", "shown"),
    [
        (HERMES, {}, {"city": "Pâris"}, {"city": "Pâris"}),
        (HERMES, {"takes_arguments_as_text": True}, {"city": "Pâris"}, '{"city": "Pâris"}'),
        (HERMES, {"takes_arguments_as_text": True}, "broken {", "broken {"),
        (QWEN3_CODER, {}, {"city": "x", "days": [3]}, {"city": "x", "days": "[3]"}),
        (QWEN3_CODER, {}, "broken {", {"arguments": "broken {"}),
    ],
)
def test_arguments_have_the_form_that_the_template_prints(syntax, changes, given, shown):
    (message,) = with_calls([said(call("a", given))], replace(ALL, **changes), syntax)
    assert message == said(call("a", shown))


def test_calls_made_at_once_are_shown_one_after_the_other_where_a_message_takes_one():
    one_each = replace(ALL, takes_several_calls=False)
    messages = [HELLO, said(call("a", {}), call("b", {}), content="hm"), result("b"), result("a")]
    assert with_calls([*messages, HELLO], one_each, HERMES) == [
        HELLO,
        said(call("a", {}), content="hm"),
        result("a"),
        said(call("b", {})),
        result("b"),
        HELLO,
    ]
    single = [said(call("a", {})), result("a")]
    assert with_calls(single, one_each, HERMES) == single


def test_mistrals_ids_have_nine_characters_and_equal_ones_stay_equal():
    messages = [said(call("call_0123456789", {}), call("abcDEF123", {})), result("call_0123456789")]
    called, answered = with_calls(messages, ALL, MISTRAL)
    calls: Any = called["tool_calls"]
    assert calls[1]["id"] == "abcDEF123"
    assert calls[0]["id"] == answered["tool_call_id"]
    assert len(calls[0]["id"]) == 9
    assert calls[0]["id"].isalnum()
