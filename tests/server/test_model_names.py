"""The names that requests may give the model: served ones, aliases, or any."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from engine.config import EngineConfig
from server.assembly import load_server
from server.config import ServerConfig
from server.engine_process.settings import EngineProcessConfig
from server.errors import StartupError
from tests.support.chat_server import MODEL, make_services, running

CHAT: Any = {"messages": [{"role": "user", "content": "hi"}]}


def services_with(*aliases: str, **config: Any) -> Any:
    services = make_services("ok", config=ServerConfig(**config))
    model = dataclasses.replace(services.model, aliases=aliases)
    return dataclasses.replace(services, model=model)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        (MODEL, 200),
        ("gpt-4o", 200),
        ("claude-sonnet-4", 200),
        ("claude-", 200),
        ("org/model.v1", 200),
        ("gpt-4o-mini", 404),
        ("gpt-4", 404),
        ("my-claude-3", 404),
        ("org/modelxv1", 404),  # a dot is a dot
    ],
)
def test_an_alias_is_a_name_or_a_pattern_with_stars(name, status):
    with running(services_with("gpt-4o", "claude-*", "org/model.v1")) as url:
        for path, body in [
            ("/v1/chat/completions", CHAT),
            ("/v1/responses", {"input": "hi"}),
            ("/v1/completions", {"prompt": "hi"}),
        ]:
            answer = httpx.post(f"{url}{path}", json=body | {"model": name})
            assert answer.status_code == status, path
            if status == 200:
                assert answer.json()["model"] == MODEL
        assert httpx.get(f"{url}/v1/models/{name}").status_code == status


@pytest.mark.parametrize(
    ("alias", "fits", "others"),
    [
        ("*", ["", "a"], []),
        ("a*b*c", ["abc", "a-b-b-c", "abcbc"], ["ab", "acb", "xabc", "abcx", "ac"]),
        ("a*a", ["aa", "aba"], ["a", "ab"]),
        ("**x", ["x", "yx"], ["xy"]),
    ],
)
def test_stars_stand_for_any_text_in_linear_time(alias, fits, others):
    model = dataclasses.replace(make_services("ok").model, aliases=(alias,))
    assert [name for name in [*fits, *others] if model.is_called(name)] == fits
    model = dataclasses.replace(model, aliases=("*a" * 30 + "b",))
    assert not model.is_called("a" * 100_000)


def test_the_list_has_names_not_patterns():
    with (
        running(services_with("gpt-4o", "claude-*")) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client,
    ):
        assert [model.id for model in client.models.list()] == [MODEL, "gpt-4o"]
        assert client.models.retrieve("claude-x").id == "claude-x"
        with pytest.raises(openai.NotFoundError, match="use one of: tiny"):
            client.models.retrieve("other")


def test_any_name_is_taken_where_asked_for():
    with running(services_with(accept_any_model=True)) as url:
        assert httpx.get(f"{url}/v1/models/what/ever").json()["id"] == "what/ever"
        body = CHAT | {"model": "what/ever"}
        assert httpx.post(f"{url}/v1/chat/completions", json=body).status_code == 200


@pytest.mark.parametrize("alias", ["gpt-4o", "=tiny", "gpt-4o="])
def test_an_alias_without_both_sides_is_refused(alias):
    with pytest.raises(ValueError, match="write ALIAS=NAME"):
        ServerConfig(model_alias=(alias,))


def test_an_alias_of_an_unserved_name_is_refused_before_anything_is_loaded():
    with pytest.raises(StartupError, match="no model 'x' is served; use one of: a, b"):
        load_server(
            Path("nowhere"),
            EngineConfig(),
            ServerConfig(served_names=("a", "b"), model_alias=("c=a", "gpt-4o=x")),
            EngineProcessConfig(engine_process=False),
            announce=lambda _: None,
        )


def test_embeddings_are_refused_helpfully():
    with running(make_services()) as url:
        answer = httpx.post(f"{url}/v1/embeddings", json={"model": MODEL, "input": "x"})
    assert answer.status_code == 404
    assert "this server generates text; use a server of embedding models" in answer.text
