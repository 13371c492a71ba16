"""Bodies made from the server's own types: each is answered or refused in the API's own shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import given

from server.wire.anthropic.request import CountTokensRequest, MessagesRequest
from server.wire.chat_request import ChatCompletionRequest
from server.wire.completions import CompletionRequest
from server.wire.decisions import DecisionsRequest
from server.wire.ollama.request import ChatRequest, GenerateRequest
from server.wire.responses.request import ResponsesRequest
from server.wire.tokenize import DetokenizeRequest, TokenizeRequest
from tests.fuzz.budget import examples
from tests.support.chat_server import MODEL, make_services, running

if TYPE_CHECKING:
    from pydantic import BaseModel

schemathesis = pytest.importorskip("schemathesis")

ROUTES: dict[str, type[BaseModel]] = {
    "/v1/chat/completions": ChatCompletionRequest,
    "/v1/completions": CompletionRequest,
    "/v1/responses": ResponsesRequest,
    "/v1/messages": MessagesRequest,
    "/v1/messages/count_tokens": CountTokensRequest,
    "/v1/decisions": DecisionsRequest,
    "/api/chat": ChatRequest,
    "/api/generate": GenerateRequest,
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


@pytest.mark.parametrize("path", ROUTES)
def test_whatever_the_types_allow_is_answered_or_refused_by_name(path, url):
    @examples(10)
    @given(case=API[path]["POST"].as_strategy())
    def send(case):
        body = case.body if isinstance(case.body, dict) else {}
        body |= {"model": MODEL} | ({"max_tokens": 3} if "max_tokens" in body else {})
        response = httpx.post(f"{url}{path}", json=body, timeout=60)
        assert response.status_code < 500, (body, response.text)
        if response.status_code >= 400:
            error = json.loads(response.text)["error"]
            assert error if isinstance(error, str) else error["message"]

    send()
