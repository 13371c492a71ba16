"""A caller is an API key: requests with the same one share cached prompts, others do not."""

from __future__ import annotations

import httpx

from server.config import ServerConfig, hash_api_key
from tests.support.chat_asking import USER
from tests.support.chat_server import MODEL, make_services, running


def test_one_key_is_one_caller_whatever_else_is_sent():
    config = ServerConfig(api_key_hashes=(hash_api_key("a"), hash_api_key("b")))
    services = make_services("ok", config=config)
    with running(services) as url, httpx.Client(base_url=url, timeout=60) as http:
        for headers in (
            [("authorization", "Bearer a")],
            [("authorization", "bearer  a")],
            [("authorization", "Bearer a"), ("x-api-key", "made up")],
            [("authorization", "Bearer made up"), ("authorization", "Bearer a")],
            [("x-api-key", "a")],
            [("x-api-key", "b")],
        ):
            body = {"model": MODEL, "messages": USER}
            answer = http.post("/v1/chat/completions", json=body, headers=headers)
            assert answer.status_code == 200, headers
    *of_a, of_b = (request.cache_salt for request in services.engine.requests)
    assert len(of_a) == 5
    assert len(set(of_a)) == 1
    assert of_b not in of_a


def test_callers_with_different_keys_share_no_cached_prompts():
    services = make_services("ok")
    with running(services) as url:
        for key in ("Bearer a", "Bearer b", "Bearer a"):
            body = {"model": MODEL, "messages": USER}
            headers = {"authorization": key}
            httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=60)
    first, second, third = (request.cache_salt for request in services.engine.requests)
    assert first == third != second
