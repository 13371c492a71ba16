"""Operations of an OpenAPI document become tools, whose calls are requests to the service."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest
from starlette.testclient import TestClient

from examples.agent_loop import Limits, run_agent
from examples.openapi_service import make_service
from examples.openapi_tools import OpenApiError, ServiceError, read_operations
from tests.support.calls import hermes_call
from tests.support.chat_server import MODEL, make_services, running


@pytest.fixture
def http():
    """A client of the example's own service, with an empty list."""
    with TestClient(make_service()) as client:
        yield client


@pytest.fixture
def tools(http):
    document = http.get("/openapi.json").json()
    return {found.name: found.as_tool(http) for found in read_operations(document)}


def test_every_operation_is_a_tool(tools):
    assert list(tools) == ["list_tasks", "add_task", "finish_task"]
    assert tools["finish_task"].description == "Finish a task."
    assert tools["finish_task"].parameters["required"] == ["task_id"]
    assert tools["add_task"].parameters["required"] == ["body"]
    assert [name for name, tool in tools.items() if "$defs" in tool.parameters] == ["add_task"]
    assert list(tools["add_task"].parameters["$defs"]) == ["NewTask"]


def test_the_model_calls_them_and_reads_their_answers(tools):
    services = make_services(
        hermes_call("add_task", body={"title": "buy milk", "priority": "high"}),
        f"{hermes_call('finish_task', task_id=1)}\n{hermes_call('finish_task', task_id=7)}",
        hermes_call("list_tasks", priority="high"),
        "It is done.",
    )
    with (
        running(services) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client,
    ):
        answer = run_agent(client, MODEL, "Buy milk.", tools, Limits(max_tokens=20_000))
    assert answer == "It is done."
    prompts = services.prompt_texts()
    assert "Put a task on the list." in prompts[0]
    assert '"id": 1, "is_done": false' in prompts[1]
    assert "ServiceError: 404" in prompts[2]
    assert "there is no task 7" in prompts[2]
    assert prompts[3].count('"is_done": true') == 2


def test_arguments_are_put_where_they_belong():
    seen = []

    def answer(request):
        seen.append((request.method, str(request.url), request.content))
        return httpx.Response(500, text="no") if b"fail" in request.content else httpx.Response(204)

    document = {
        "openapi": "3.1.0",
        "paths": {
            "/boxes/{box}": {
                "parameters": [
                    {"name": "box", "in": "path", "required": True, "schema": {"type": "string"}}
                ],
                "put": {
                    "operationId": "fill",
                    "parameters": [
                        {"name": "at", "in": "query", "schema": {"type": ["integer", "null"]}},
                        {"name": "dry", "in": "query", "schema": {"type": "boolean"}},
                    ],
                    "requestBody": {"content": {"application/json": {"schema": {}}}},
                },
            }
        },
    }
    (operation,) = read_operations(document)
    transport = httpx.MockTransport(answer)
    with httpx.Client(base_url="http://service", transport=transport) as http:
        tool = operation.as_tool(http)
        assert tool.run(box="a/../b?", at=None, dry=True, body=["x"]) is None
        tool.run(box="c", at=3)
        with pytest.raises(ServiceError, match="500 no"):
            tool.run(box="c", body="fail")
    assert seen[:2] == [
        ("PUT", "http://service/boxes/a%2F..%2Fb%3F?dry=true", b'["x"]'),
        ("PUT", "http://service/boxes/c?at=3", b""),
    ]


def test_a_schema_takes_along_what_it_refers_to():
    node = {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "paths": {"/a": {"post": {"operationId": "a", "requestBody": body}}},
        "components": {"schemas": {"Node": node, "Other": {}}},
    }
    (operation,) = read_operations(document)
    reference = {"$ref": "#/$defs/Node"}
    assert operation.parameters["properties"] == {"body": reference}
    assert operation.parameters["$defs"] == {
        "Node": {"type": "object", "properties": {"next": reference}}
    }
    document["components"]["schemas"].pop("Node")
    with pytest.raises(OpenApiError, match="the reference #/components/schemas/Node leads to none"):
        list(read_operations(document))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"openapi": "3.0.3"}, "OpenAPI 3.0.3: only 3.1 has schemas that are JSON Schema"),
        ({"swagger": "2.0", "openapi": ""}, "OpenAPI 2: only 3.1"),
        ({"get": {}}, "GET /a: a tool needs the operationId for its name"),
        (
            {"get": {"operationId": "a", "parameters": [{"name": "key", "in": "header"}]}},
            "GET /a: the parameter .*'key'.* cannot be an argument",
        ),
        (
            {"get": {"operationId": "a", "requestBody": {"content": {"text/csv": {}}}}},
            "GET /a: the body is not JSON but text/csv",
        ),
    ],
)
def test_what_no_tool_could_honour_is_refused(changes, message):
    operation = {"get": changes.pop("get", {"operationId": "a"})}
    with pytest.raises(OpenApiError, match=message):
        list(read_operations({"openapi": "3.1.0", "paths": {"/a": operation}, **changes}))
