"""Structures of tags and calls: refused by name, or every text of them ends; nothing crashes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.spec import Structure
from server.calls.formats import FORMATS
from server.calls.grammar import calls_part, text_with_calls_part
from server.calls.tool import CallableTool
from server.errors import RequestError
from server.json_guard import parse_json_object
from server.request_errors import MalformedBodyError
from server.structural_tag import structural_tag
from tests.fuzz.budget import examples
from tests.fuzz.strategies import schemas, structural_tags
from tests.fuzz.walks import check


@examples(30)
@given(structural_tags())
def test_structural_tags(value):
    try:
        structure = structural_tag(value, "structural_tag")
    except RequestError:
        return
    check(structure)


def schema_object(text: str) -> dict[str, Any] | None:
    """The schema of a tool, if the text is one: servers read no other, nor lone surrogates."""
    try:
        schema = parse_json_object(text.encode(), max_depth=40, max_number_chars=400)
    except (UnicodeEncodeError, MalformedBodyError):
        return None
    return schema


@pytest.mark.parametrize("syntax", FORMATS.values(), ids=FORMATS.keys())
def test_calls_of_any_schema_in_every_format(syntax):
    @examples(4)
    @given(
        written=st.lists(schemas(), min_size=1, max_size=2),
        max_calls=st.sampled_from([None, 1, 2]),
        form=st.sampled_from([calls_part, text_with_calls_part]),
    )
    def compiled(written, max_calls, form):
        objects = [found for text in written if (found := schema_object(text)) is not None]
        if not objects:
            return
        tools = [CallableTool(f"f{i}", schema) for i, schema in enumerate(objects)]
        try:
            part = form(syntax, tools, max_calls=max_calls)
        except RequestError:
            return
        check(Structure(part))

    compiled()
