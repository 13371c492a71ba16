"""The order of keys: of the schema, or any, by request and by setting."""

from __future__ import annotations

import httpx
import pytest

from grammars.spec import (
    Cfg,
    Either,
    Embed,
    FreeText,
    JsonObject,
    JsonSchema,
    Literal,
    Regex,
    Repeat,
    Sequence,
    Structure,
    Tagged,
    with_property_order,
)
from server.config import ServerConfig
from tests.support.chat_server import MODEL, make_services, running

PAIR = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "f", "parameters": PAIR}}
BACKWARDS = '{"b": 1, "a": 2}'
CALL = '<tool_call>\n{"name": "f", "arguments": ' + BACKWARDS + "}\n</tool_call>"


def post(text: str, *, config: ServerConfig | None = None, **fields: object) -> httpx.Response:
    """What becomes of a model that insists on writing `text`."""
    services = make_services(text, config=config or ServerConfig())
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]} | fields
    with running(services) as url:
        return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (BACKWARDS, {"json_schema": PAIR}),
        (BACKWARDS, {"structured_outputs": {"json": PAIR}}),
        (CALL, {"tools": [TOOL], "tool_choice": "required"}),
        (CALL, {"tools": [TOOL], "tool_choice": "auto"}),
    ],
)
def test_keys_come_in_any_order_where_a_request_or_the_server_says_so(text, fields):
    by_setting = ServerConfig(property_order="any")
    assert post(text, property_order="any", **fields).status_code == 200
    assert post(text, config=by_setting, **fields).status_code == 200
    assert post(text, **fields).status_code == 500  # the scripted model was refused a token
    in_order = post(text, config=by_setting, property_order="schema", **fields)
    assert in_order.status_code == 500


def test_an_order_of_no_keys_is_named_as_ignored():
    of_text = post("ok", property_order="any")
    of_pattern = post("ok", property_order="any", guided_regex="ok")
    for response in (of_text, of_pattern):
        assert response.headers["x-tightrope-ignored"] == "property_order"
    response = post(BACKWARDS, property_order="any", json_schema=PAIR)
    assert "x-tightrope-ignored" not in response.headers


def test_an_unknown_order_is_refused():
    error = post("ok", property_order="sorted").json()["error"]
    assert error["param"] == "property_order"
    assert "'schema' or 'any'" in error["message"]
    with pytest.raises(ValueError, match="property_order: 'sorted' is unknown; use one of schema"):
        ServerConfig(property_order="sorted")  # type: ignore[arg-type]  # what is tested


def test_every_document_of_a_structure_gets_the_order():
    def structure(order):
        document = Embed(JsonSchema("{}", property_order=order))
        anything = Embed(JsonObject(property_order=order))
        tag = Tagged("<a>", Sequence((document, Literal("</a>"))))
        rest = Either((Repeat(document, 1, 2), anything, Embed(Regex("x"))))
        return Structure(Sequence((FreeText((tag,), 1, "</t>"), rest)))

    assert with_property_order(structure("schema"), "any") == structure("any")
    assert with_property_order(structure("any"), "schema") == structure("schema")
    grammar = Cfg("lark", "start: /x/")
    assert with_property_order(grammar, "any") is grammar
