"""Bodies made from the server's own types: each is answered or refused in the API's own shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.app import create_app
from server.error_shapes import ErrorShape, error_shape
from server.wire.anthropic.request import CountTokensRequest, MessagesRequest
from server.wire.chat_request import ChatCompletionRequest
from server.wire.completions import CompletionRequest
from server.wire.decisions import DecisionsRequest
from server.wire.ollama.request import ChatRequest, GenerateRequest, ShowRequest
from server.wire.responses.request import ResponsesRequest
from server.wire.tokenize import DetokenizeRequest, TokenizeRequest
from tests.fuzz.budget import examples
from tests.support.chat_server import MODEL, make_services, running
from tests.support.fresh_http import HTTP

if TYPE_CHECKING:
    from pydantic import BaseModel

schemathesis = pytest.importorskip("schemathesis")
GenerationMode = schemathesis.GenerationMode

ROUTES: dict[str, type[BaseModel]] = {
    "/v1/chat/completions": ChatCompletionRequest,
    "/v1/completions": CompletionRequest,
    "/v1/responses": ResponsesRequest,
    "/v1/messages": MessagesRequest,
    "/v1/messages/count_tokens": CountTokensRequest,
    "/v1/decisions": DecisionsRequest,
    "/api/chat": ChatRequest,
    "/api/generate": GenerateRequest,
    "/api/show": ShowRequest,
    "/tokenize": TokenizeRequest,
    "/detokenize": DetokenizeRequest,
}
REFERENCES = "#/components/schemas/{model}"


def document() -> dict[str, Any]:
    """An OpenAPI document of the routes. The server itself tells none: its rules of a request go
    beyond what a schema can say, and a page of documentation without a key would be one more path.
    """
    paths: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for path, model in ROUTES.items():
        schema = model.model_json_schema(ref_template=REFERENCES)
        shared |= schema.pop("$defs", {})
        content = {"application/json": {"schema": schema}}
        responses = {"default": {"description": "an answer or an error"}}
        paths[path] = {"post": {"requestBody": {"content": content}, "responses": responses}}
    info = {"title": "Tightrope", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": shared}}


API = schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def url():
    with running(make_services(None, max_model_len=2_000)) as url:
        yield url


@pytest.mark.filterwarnings("ignore:Duplicate Operation ID")  # of GET and HEAD; it is told nobody
def test_every_route_with_a_body_is_sent_some():
    paths = create_app(make_services(None)).openapi()["paths"]
    assert {path for path, methods in paths.items() if "post" in methods} == set(ROUTES)


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("path", ROUTES)
def test_whatever_is_sent_is_answered_or_refused_in_the_apis_own_shape(path, mode, url):
    """Positive: what the types allow; negative: what they do not, in one place at least."""

    @examples(5)
    @given(case=API[path]["POST"].as_strategy(generation_mode=mode))
    def send(case):
        body = case.body if isinstance(case.body, dict | list | str | int | float) else None
        if isinstance(body, dict):
            body |= {"max_tokens": 3} if isinstance(body.get("max_tokens"), int) else {}
            body |= {"model": MODEL} if mode is GenerationMode.POSITIVE else {}
        response = HTTP.post(f"{url}{path}", json=body, timeout=60)
        assert response.status_code < 500, (body, response.text)
        if response.status_code >= 400:
            error = response.json()["error"]
            match error_shape(path):
                case ErrorShape.OPENAI:
                    assert set(error) == {"message", "type", "param", "code"}
                case ErrorShape.ANTHROPIC:
                    assert set(error) == {"message", "type"}
                case ErrorShape.OLLAMA:
                    assert isinstance(error, str)

    send()


@pytest.mark.parametrize("path", ["/v1/models/", "/v1/responses/"])
def test_whatever_a_path_names_is_found_or_told_not_to_be(path, url):
    @examples(20)
    @given(name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
    def send(name):
        # "." and ".." would be taken for steps between folders, by clients already.
        quoted = quote(name, safe="").replace(".", "%2E")
        response = HTTP.get(f"{url}{path}{quoted}", timeout=60)
        assert response.status_code == 404, name
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}

    send()
