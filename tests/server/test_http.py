"""HTTP: error shapes on every path, keys, request ids, sizes, times, and the small routes."""

from __future__ import annotations

import json
import socket
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from server.config import ServerConfig, hash_api_key, hash_api_keys
from server.error_answers import ANSWER_OF, answer_of
from server.errors import InternalError, ServerError, StartupError
from server.request_errors import ContextLengthError, InvalidValueError, renamed
from tests.support.chat_server import MODEL, make_services, running

CHAT = "/v1/chat/completions"
BODY = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}


@contextmanager
def client(*texts: str, **config: Any):
    services = make_services(*texts, config=ServerConfig(**config))
    with running(services) as url, httpx.Client(base_url=url, timeout=30) as http:
        yield http


def check_error(response: httpx.Response, status: int, message: str, code: str | None = None):
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"].startswith("req_")
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert message in body["error"]["message"]
    assert body["error"]["code"] == code


def test_every_error_has_the_same_shape():
    with client() as http:
        check_error(http.get("/nope"), 404, "Nothing is served at /nope")
        check_error(http.get("//v1//models"), 404, "Nothing is served")
        check_error(http.post("/v1/embeddings", json={}), 404, "use a server of embedding models")
        check_error(http.post("/chat/completions", json={}), 404, "the base URL ends with /v1;")
        check_error(http.get("/v1/models/x/../y"), 404, "is not served here", "model_not_found")
        refused = http.get(CHAT)
        check_error(refused, 405, "GET is not allowed here; use POST")
        assert refused.headers["allow"] == "POST"
        check_error(http.post(CHAT, content=b""), 415, "Send the body as content-type")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            response = http.post(CHAT, content=b"{}", headers={"content-type": kind})
            check_error(response, 415, "application/json")
        compressed = {"content-type": "application/json", "content-encoding": "gzip"}
        check_error(http.post(CHAT, content=b"x", headers=compressed), 415, "Compressed")
        json_type = {"content-type": "application/json; charset=utf-8"}
        bad = http.post(CHAT, content=b"{'a'", headers=json_type)
        check_error(bad, 400, "The body is not JSON", "invalid_json")
        check_error(http.post(CHAT, json={}), 400, "required", "missing_required_parameter")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("/completions", "the base URL ends with /v1; use /v1/completions"),
        ("/v1/v1/messages", "this client puts /v1 behind the base URL itself; use /v1/messages"),
        ("/v1/api/tags", "use /api/tags"),
        ("/v1/chat/completions/", "use /v1/chat/completions"),
        ("/api/embeddings", "this server generates text; use a server of embedding models"),
        ("/api/pull", "the model is chosen when the server starts: tightrope serve MODEL"),
        ("/v1/audio/speech", "the API is under /v1, its models under /v1/models"),
    ],
)
def test_a_path_that_is_not_served_is_told_what_is(path, hint):
    with client() as http:
        message = f"Nothing is served at {path}; {hint}"
        told = http.post(path, json={}).json()["error"]
        assert (told if path.startswith("/api/") else told["message"]) == message


@pytest.mark.parametrize("path", ["/", "/health", "/v1/models", "/api/tags", "/metrics"])
def test_what_may_be_got_may_be_asked_for_its_head(path):
    with client() as http:
        asked, got = http.head(path), http.get(path)
        assert (asked.status_code, asked.content) == (200, b"")
        assert asked.headers["content-type"] == got.headers["content-type"]
        refused = http.put(path)
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
        assert "PUT is not allowed here; use GET, HEAD" in refused.text


def test_the_base_url_says_what_is_served_and_where():
    with client() as http:
        assert http.get("/").text == (
            f"Tightrope serves {MODEL}. The API is under /v1, its models under /v1/models.\n"
        )
        assert http.get("/v1/models/").json() == http.get("/v1/models").json()


def test_an_unexpected_error_tells_the_client_nothing_but_its_id(caplog):
    services = make_services("ok")
    services.prompts.build = None  # type: ignore[assignment,method-assign]  # a TypeError
    with running(services) as url:
        response = httpx.post(f"{url}{CHAT}", json=BODY)
    check_error(response, 500, f"its log has it under {response.headers['x-request-id']}")
    assert "NoneType" not in response.text
    assert "TypeError" in caplog.text


@pytest.mark.parametrize(
    ("param", "expected"),
    [
        ("tools[2].function.name", "tools[2].name"),
        ("response_format.json_schema.schema", "text.format.schema"),
        ("response_format", "text.format"),
        ("response_formats", "response_formats"),
        ("max_tokens", "max_output_tokens"),
        ("seed", "seed"),
    ],
)
def test_a_refusal_can_be_told_in_the_names_of_another_endpoint(param, expected):
    names = {
        "tools[2].function": "tools[2]",
        "response_format": "text.format",
        "response_format.json_schema": "text.format",
        "max_tokens": "max_output_tokens",
    }
    error = renamed(InvalidValueError(param, "no"), names)
    assert (error.param, error.message) == (expected, f"{expected}: no")
    assert error.code == "invalid_value"


def test_every_kind_of_error_has_its_row_in_the_table():
    kinds = {kind for kind in ServerError.__subclasses__() if kind.__module__ == "server.errors"}
    assert kinds - ANSWER_OF.keys() == {InternalError, StartupError}
    assert answer_of(InternalError("x")).status == 500
    assert answer_of(ContextLengthError(2, 1)).status == 400


def test_a_body_is_measured_by_its_bytes_declared_or_not():
    with client(max_body_bytes=1000) as http:
        headers = {"content-type": "application/json"}
        big = b'{"a": "' + b"x" * 2000 + b'"}'
        check_error(
            http.post(CHAT, content=big, headers=headers),
            413,
            "more than max_body_bytes=1000 bytes",
            "body_too_large",
        )
        chunks = iter([big[:600], big[600:]])
        check_error(http.post(CHAT, content=chunks, headers=headers), 413, "1000", "body_too_large")
        assert http.post(CHAT, json=BODY).status_code == 200


def raw(http: httpx.Client, data: bytes) -> bytes:
    """What the server sends back on a raw connection until it closes it."""
    with socket.create_connection((http.base_url.host, http.base_url.port), timeout=20) as wire:
        wire.sendall(data)
        answer = b""
        while chunk := wire.recv(65536):
            answer += chunk
        return answer


def test_slow_headers_and_slow_bodies_are_cut_off():
    with client(header_timeout_s=0.2, body_timeout_s=0.3) as http:
        assert raw(http, b"") == b""
        assert raw(http, b"POST /v1/chat") == b""
        head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        answer = raw(http, f"{head}Connection: close\r\nContent-Length: 9\r\n\r\n{{".encode())
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"did not arrive within body_timeout_s=0.3 s" in answer


@pytest.mark.parametrize(
    "data",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
        b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        bytes.fromhex("1603010200010001fc0303"),
    ],
)
def test_what_is_no_http_is_a_400_in_the_same_shape(data):
    with client() as http:
        try:
            answer = raw(http, data)
        except ConnectionResetError:  # the answer was sent before all was read
            answer = b""
        if answer:
            head, _, body = answer.partition(b"\r\n\r\n")
            assert head.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 "))
            assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}
        assert http.get("/health").status_code == 200


def test_keys_guard_every_path_but_health_and_ready():
    hashes = hash_api_keys("# ours\nalpha\n\n  beta  \n")
    with client(api_key_hashes=hashes) as http:
        for path in ("/v1/models", "/version", "/metrics", "/docs", "/openapi.json", "/nope"):
            check_error(http.get(path), 401, "A valid API key is needed", "invalid_api_key")
            for key in ("gamma", "alph", b"\xff\xfe", "k" * 60_000):
                value = b"Bearer " + (key if isinstance(key, bytes) else key.encode())
                refused = http.get(path, headers={"authorization": value})
                assert refused.status_code == 401
            assert http.get(path, headers={"authorization": "Basic alpha"}).status_code == 401
        assert http.post(CHAT, content=b"not read").status_code == 401
        for path in ("/health", "/ready"):
            assert http.get(path).status_code == 200
        for key in ("alpha", "beta"):
            assert http.get("/v1/models", headers={"authorization": f"bearer {key}"}).is_success


def test_empty_keys_are_refused():
    with pytest.raises(ValueError, match="an empty key is not allowed"):
        hash_api_key(" ")


def test_request_ids_are_ours():
    with client() as http:
        ids = [
            http.get("/health", headers={"x-request-id": "mine"}).headers["x-request-id"]
            for _ in range(2)
        ]
    assert len(set(ids)) == 2
    assert all(request_id.startswith("req_") for request_id in ids)


def test_the_small_routes():
    with client() as http:
        models = http.get("/v1/models").json()
        assert [model["id"] for model in models["data"]] == [MODEL]
        assert http.get(f"/v1/models/{MODEL}").json() == models["data"][0]
        assert models["data"][0]["max_model_len"] == 20_000
        check_error(http.get("/v1/models/a/b"), 404, "'a/b' is not served", "model_not_found")
        assert http.get("/health").json() == {"status": "ok"}
        assert http.get("/ready").json() == {"status": "ready"}
        assert http.get("/version").json()["version"]
        http.post(CHAT, json=BODY)
        text = http.get("/metrics").text
        assert 'tightrope:http_requests_total{path="/v1/chat/completions",status="200"} 1.0' in text
        assert 'path="/nope"' not in text  # labels do not grow with what clients make up


def test_any_model_name_is_answered_where_that_is_configured():
    with client(accept_any_model=True) as http:
        answer = http.post(CHAT, json=BODY | {"model": "gpt-4o"})
        assert (answer.status_code, answer.json()["model"]) == (200, MODEL)
        assert http.get("/v1/models/gpt-4o").json()["id"] == "gpt-4o"


def test_a_dead_engine_is_not_ready_but_healthy():
    services = make_services()
    services.engine.is_alive = False
    with running(services) as url:
        check_error(httpx.get(f"{url}/ready"), 503, "The engine has stopped")
        assert httpx.get(f"{url}/health").status_code == 200


@pytest.mark.parametrize("name", ["max_n", "body_timeout_s", "max_body_bytes"])
def test_limits_that_make_no_sense_are_refused(name):
    nonsense: Any = {name: 0}
    with pytest.raises(ValueError, match=f"{name}: 0 is not positive"):
        ServerConfig(**nonsense)
