"""OpenAPI: every operation of a service becomes a tool; its calls are made as HTTP requests.

Start the server (`make serve`), and `.venv/bin/python -m examples.openapi_service`, then:

    .venv/bin/python -m examples.openapi_tools "Put milk on the list." http://127.0.0.1:8010

Documents of OpenAPI 3.1 are read, whose schemas are JSON Schema, with parameters in path and query
and bodies of JSON. What a tool could not honour is refused by name.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from examples.agent_loop import AgentError, Limits, Tool, connect, run_agent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_METHODS = ("get", "put", "post", "delete", "patch")
_BODY = "body"
_SCHEMAS = "#/components/schemas/"


class OpenApiError(Exception):
    """The document holds what cannot be made a tool."""


class ServiceError(Exception):
    """The service answered a call with an error."""


@dataclass(frozen=True)
class Operation:
    """One operation of a document.

    Args:
        name: its operationId.
        method: of HTTP.
        path: with its parameters in braces.
        description: for the model.
        places: "path" or "query", by the name of the parameter.
        parameters: JSON Schema of all arguments together; the body is the argument "body".
    """

    name: str
    method: str
    path: str
    description: str
    places: Mapping[str, str]
    parameters: dict[str, Any]

    def as_tool(self, http: httpx.Client) -> Tool:
        """The tool whose calls are requests of this client."""

        def call(**arguments: Any) -> Any:  # noqa: ANN401  # bound by the schema
            return self.request(http, arguments)

        return Tool(call, self.description, self.parameters)

    def request(self, http: httpx.Client, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401  # JSON
        """Make the request.

        Raises:
            ServiceError: it was answered with an error; the message holds status and body.
        """
        path, query = self.path, {}
        for name, value in arguments.items():
            match self.places.get(name):
                case "path":
                    path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
                case "query" if value is not None:
                    query[name] = value
        body = {"json": arguments[_BODY]} if _BODY in arguments else {}
        response = http.request(self.method, path, params=query, **body)
        if response.is_error:
            raise ServiceError(f"{response.status_code} {response.text[:500]}")
        return response.json() if response.content else None


def read_operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    """The operations of an OpenAPI document.

    Raises:
        OpenApiError: a part of it could not be honoured.
    """
    version = document.get("openapi", "")
    if not version.startswith("3.1"):
        raise OpenApiError(f"OpenAPI {version or '2'}: only 3.1 has schemas that are JSON Schema")
    components = document.get("components", {}).get("schemas", {})
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                yield _read_operation(method, path, item, components)


def _read_operation(
    method: str, path: str, item: Mapping[str, Any], components: Mapping[str, Any]
) -> Operation:
    operation = item[method]
    where = f"{method.upper()} {path}"
    if "operationId" not in operation:
        raise OpenApiError(f"{where}: a tool needs the operationId for its name")
    places, properties, required = {}, {}, []
    for parameter in (*item.get("parameters", ()), *operation.get("parameters", ())):
        name, place = parameter.get("name"), parameter.get("in")
        if place not in ("path", "query") or name == _BODY or "schema" not in parameter:
            raise OpenApiError(f"{where}: the parameter {parameter} cannot be an argument")
        places[name] = place
        described = {key: parameter[key] for key in ("description",) if key in parameter}
        properties[name] = {**parameter["schema"], **described}
        required += [name] if parameter.get("required") else []
    if "requestBody" in operation:
        content = operation["requestBody"].get("content", {})
        if "application/json" not in content:
            raise OpenApiError(f"{where}: the body is not JSON but {', '.join(content)}")
        properties[_BODY] = content["application/json"]["schema"]
        required += [_BODY] if operation["requestBody"].get("required") else []
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return Operation(
        name=operation["operationId"],
        method=method,
        path=path,
        description=" ".join(operation[k] for k in ("summary", "description") if k in operation),
        places=places,
        parameters=_standing_alone(schema, components),
    )


def _standing_alone(schema: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to in the document as definitions of its own.

    Raises:
        OpenApiError: it refers to something else.
    """
    definitions: dict[str, Any] = {}

    def moved(value: Any) -> Any:  # noqa: ANN401  # JSON
        if isinstance(value, list):
            return [moved(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        found = {key: moved(inner) for key, inner in value.items()}
        if isinstance(reference := value.get("$ref"), str):
            name = reference.removeprefix(_SCHEMAS)
            if not reference.startswith(_SCHEMAS) or name not in components:
                raise OpenApiError(f"the reference {reference} leads to none of {_SCHEMAS}")
            found["$ref"] = f"#/$defs/{name}"
            if name not in definitions:
                definitions[name] = {}  # a place for it, should it refer to itself
                definitions[name] = moved(components[name])
        return found

    alone: dict[str, Any] = moved(schema)
    return {**alone, "$defs": definitions} if definitions else alone


def main() -> None:
    """Answer the question on the command line with the operations of a service."""
    question = sys.argv[1] if len(sys.argv) > 1 else "Put milk on the list."
    service = sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:8010"
    client, model = connect()
    with httpx.Client(base_url=service) as http:
        document = http.get("/openapi.json").raise_for_status().json()
        tools = {found.name: found.as_tool(http) for found in read_operations(document)}
        print(f"tools: {', '.join(tools)}")
        try:
            print(run_agent(client, model, question, tools, Limits()))
        except AgentError as error:
            print(f"stopped: {error}")


if __name__ == "__main__":
    main()
