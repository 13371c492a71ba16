"""Structural tags under limits: how many parts in all lists, how many characters of schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from server.config import ServerConfig
from server.request_errors import InvalidValueError
from server.structural_tag import structural_tag
from server.tag_limits import check_num_tags, num_schema_chars
from tests.support.chat_server import MODEL, make_services, running
from tests.support.fresh_http import HTTP

SCHEMA = {"type": "integer"}
TAG = {"type": "tag", "begin": "<a", "content": {"type": "any_text"}, "end": ">"}
OLDER = {"begin": "<a", "schema": SCHEMA, "end": ">"}
TEXT = {"type": "const_string", "value": "a"}


def nested(depth: int) -> dict[str, Any]:
    """A list in a list, and so on: two items in each."""
    part: dict[str, Any] = TEXT
    for _ in range(depth):
        part = {"type": "sequence", "elements": [TEXT, part]}
    return part


@pytest.mark.parametrize(
    ("value", "num_items"),
    [
        ({"structures": [OLDER] * 3, "triggers": ["<", "<a"]}, 5),
        ({"format": {"type": "triggered_tags", "tags": [TAG] * 4, "triggers": ["<"]}}, 5),
        ({"format": {"type": "tags_with_separator", "tags": [TAG] * 6, "separator": ","}}, 6),
        ({"format": {"type": "or", "elements": [TEXT] * 7}}, 7),
        ({"format": nested(5)}, 10),
        ({"format": TAG | {"content": nested(3)}}, 6),
        ({"format": {"type": "sequence", "elements": [TAG | {"content": nested(2)}, TEXT]}}, 6),
    ],
)
def test_items_of_all_lists_are_counted(value, num_items):
    check_num_tags(value, num_items, "x")
    with pytest.raises(InvalidValueError, match=f"at most max_tags={num_items - 1} tags, triggers"):
        check_num_tags(value, num_items - 1, "x")


def test_schemas_are_counted_wherever_they_are():
    part = {"type": "json_schema", "json_schema": SCHEMA}
    repeated = {"type": "tags_with_separator", "tags": [TAG | {"content": part}], "separator": ","}
    value = {"format": {"type": "sequence", "elements": [part, repeated]}}
    num_chars = len(json.dumps(SCHEMA, separators=(",", ":")))
    # The tag of the list is there twice: first, and behind a separator.
    assert num_schema_chars(structural_tag(value, "x")) == pytest.approx(3 * num_chars, abs=6)
    older = {"structures": [OLDER] * 4, "triggers": ["<"]}
    assert num_schema_chars(structural_tag(older, "x")) == pytest.approx(4 * num_chars, abs=8)


@pytest.mark.parametrize("is_text", [False, True])
def test_a_request_with_too_many_is_refused_by_name(is_text):
    value = {"structures": [OLDER] * 4, "triggers": ["<"]}
    given = json.dumps(value) if is_text else value
    services = make_services(None, config=ServerConfig(max_tags=4))
    with running(services) as url:
        body = {
            "model": MODEL,
            "messages": [{"role": "user", "content": "hi"}],
            "structured_outputs": {"structural_tag": given},
        }
        answer = HTTP.post(f"{url}/v1/chat/completions", json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["param"] == "structured_outputs.structural_tag"
    assert error["message"].endswith(
        "at most max_tags=4 tags, triggers and elements are allowed in all lists together, got at "
        "least 5"
    )


def test_large_schemas_of_a_tag_are_refused_by_name():
    large = OLDER | {"schema": {"const": "a" * 60}}
    form = {"type": "structural_tag", "structures": [large] * 2, "triggers": ["<"]}
    services = make_services(None, config=ServerConfig(max_schema_chars=100))
    with running(services) as url:
        body = {
            "model": MODEL,
            "messages": [{"role": "user", "content": "hi"}],
            "response_format": form,
        }
        answer = HTTP.post(f"{url}/v1/chat/completions", json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["param"] == "response_format"
    assert "at most max_schema_chars=100 characters are allowed, got 1" in error["message"]
