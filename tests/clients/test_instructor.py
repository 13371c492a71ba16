"""Instructor over OpenAI's client, in each of its modes."""

from __future__ import annotations

from typing import Any, Literal

import pytest

pytest.importorskip("instructor")  # it has an environment of its own

import instructor
from openai import OpenAI
from pydantic import BaseModel, Field, field_validator

from tests.clients.matrix import python_client
from tests.clients.serving import MODEL

CLIENT = python_client("instructor")
USER: Any = [{"role": "user", "content": "Extract: Jason is 25 years old"}]


class User(BaseModel):
    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=150)
    role: Literal["admin", "guest"] | None = None


def patched(url: str, mode: str) -> Any:
    client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    return instructor.from_openai(client, mode=instructor.Mode[mode])


@pytest.mark.parametrize("mode", ["TOOLS", "TOOLS_STRICT", "JSON_SCHEMA", "RESPONSES_TOOLS"])
def test_extraction(tiny, mode):
    client = patched(tiny, mode)
    user = client.chat.completions.create(
        model=MODEL, response_model=User, messages=USER, max_retries=0
    )
    assert isinstance(user, User)


def test_partial_objects_from_a_stream(tiny):
    client = patched(tiny, "TOOLS")
    states = list(
        client.chat.completions.create_partial(model=MODEL, response_model=User, messages=USER)
    )
    assert len(states) > 1
    User.model_validate(states[-1].model_dump())


def test_objects_come_one_by_one_from_a_stream(tiny):
    """The client asks for a list that is not required, and cannot read an answer without it.

    So the bytes of the random model lean towards a key, then towards an object, then to its end.
    """
    client = patched(tiny, "TOOLS")
    users = client.chat.completions.create_iterable(
        model=MODEL,
        response_model=User,
        messages=USER,
        logit_bias={str(ord('"')): 100, str(ord("{")): 100, str(ord("}")): 50},
        max_tokens=400,
    )
    first = next(iter(users))
    assert isinstance(first, User)


def test_nested_objects(tiny):
    client = patched(tiny, "TOOLS")

    class Pair(BaseModel):
        first: User
        second: User

    pair = client.chat.completions.create(
        model=MODEL, response_model=Pair, messages=USER, max_retries=0
    )
    assert isinstance(pair.first, User)


def test_a_failed_validation_is_sent_back_and_tried_again(tiny):
    class Doubted(User):
        @field_validator("age")
        @classmethod
        def doubt_once(cls, age: int) -> int:
            attempts.append(age)
            if len(attempts) == 1:
                raise ValueError("are you sure?")
            return age

    attempts: list[int] = []
    client = patched(tiny, "TOOLS")
    user = client.chat.completions.create(
        model=MODEL, response_model=Doubted, messages=USER, max_retries=2
    )
    assert isinstance(user, Doubted)
    assert len(attempts) == 2


def test_hooks_see_the_usage(tiny):
    client = patched(tiny, "TOOLS")
    user, answer = client.chat.completions.create_with_completion(
        model=MODEL, response_model=User, messages=USER, max_retries=0
    )
    assert user.age <= 150
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
