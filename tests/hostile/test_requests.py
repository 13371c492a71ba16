"""Hostile requests: each gets its clean refusal or the right answer, and the server goes on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.chat_server import MODEL
from tests.support.fresh_http import HTTP
from tests.support.hostile_cases import expand, shared_params

if TYPE_CHECKING:
    import httpx

PATIENCE_S = 300
"""Prompts of tokens of one byte are long: t-128 has 26,000, a minute of one busy processor."""


@pytest.mark.parametrize("case", shared_params("request", "raw", "tools", "chat"))
def test_a_hostile_request_is_refused_or_answered_rightly(case, target, ordinary_behind):
    body = expand(case).replace(b'"MODEL"', json.dumps(MODEL).encode())
    given = {name.lower(): value for name, value in (case.get("headers") or {}).items()}
    headers = {"content-type": "application/json"} | given
    with ordinary_behind(target):
        response = HTTP.post(
            f"{target.url}{case['path']}", content=body, headers=headers, timeout=PATIENCE_S
        )
        if "Nothing is served" in response.text:  # by endpoints that this version does not have
            check_refusal(response, {"verdict": "either"})
        else:
            check_verdict(response, case["expected"])


def check_verdict(response: httpx.Response, expected: dict[str, Any]) -> None:
    match expected["verdict"]:
        case "reject":
            assert 400 <= response.status_code < 500
        case "accept" | "behave":
            assert response.status_code == 200, response.text
        case _:
            assert response.status_code < 500
    if not response.is_success:
        check_refusal(response, expected)


def check_refusal(response: httpx.Response, expected: dict[str, Any]) -> None:
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert len(error["message"]) < 2000
    assert response.status_code == expected.get("status", response.status_code)
    if expected["verdict"] == "reject" and "param" in expected:
        assert error["param"].startswith(expected["param"])
        assert error["code"] == expected.get("code", error["code"])
