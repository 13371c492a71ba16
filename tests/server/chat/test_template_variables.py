"""Which variables a request sets, by whatever its template reads."""

from __future__ import annotations

from typing import Any

import pytest

from server.chat.template_variables import template_variables
from server.wire.policy import parse_chat_request

USER = [{"role": "user", "content": "hi"}]


def variables(reads: list[str], **fields: Any) -> tuple[dict[str, object], tuple[str, ...]]:
    request = parse_chat_request({"model": "m", "messages": USER} | fields).request
    found = template_variables(request, reads.__contains__)
    return dict(found.values), found.ignored


@pytest.mark.parametrize(
    ("reads", "fields", "values", "ignored"),
    [
        ([], {}, {}, ()),
        (["thinking"], {"chat_template_kwargs": {"thinking": True}}, {"thinking": True}, ()),
        (
            [],
            {"chat_template_kwargs": {"thinking": True}},
            {},
            ("chat_template_kwargs.thinking",),
        ),
        # An effort of "none" turns thinking off, by the switch that the template has.
        (
            ["enable_thinking", "thinking", "reasoning_effort"],
            {"reasoning_effort": "none"},
            {"enable_thinking": False},
            (),
        ),
        (["thinking"], {"reasoning_effort": "none"}, {"thinking": False}, ()),
        (["reasoning_effort"], {"reasoning_effort": "none"}, {"reasoning_effort": "none"}, ()),
        ([], {"reasoning_effort": "none"}, {}, ("reasoning_effort",)),
        (["reasoning_effort"], {"reasoning_effort": "low"}, {"reasoning_effort": "low"}, ()),
        (["enable_thinking"], {"reasoning_effort": "low"}, {}, ("reasoning_effort",)),
        # What is spelled out goes before.
        (
            ["enable_thinking"],
            {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": True}},
            {"enable_thinking": True},
            (),
        ),
        (["verbosity"], {"verbosity": "low"}, {"verbosity": "low"}, ()),
        ([], {"verbosity": "low"}, {}, ("verbosity",)),
    ],
)
def test_a_variable_is_set_where_the_template_reads_it_and_named_else(
    reads, fields, values, ignored
):
    assert variables(reads, **fields) == (values, ignored)
