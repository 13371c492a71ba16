"""What thoughts are called in chat answers, and in the messages that clients send back."""

from __future__ import annotations

import pytest

from server.config import ServerConfig
from tests.support.chat_asking import choice_of, post, prompt_of, streamed
from tests.support.chat_server import THINKING_TEMPLATE, make_services
from tests.support.templates import MISTRAL_ARGS_TEMPLATE

TEXT = "<think>\nhm ☔\n</think>\n\nok"
FIELDS = {
    "reasoning_content": {"reasoning_content"},
    "reasoning": {"reasoning"},
    "both": {"reasoning_content", "reasoning"},
}
THOUGHT_FIELDS = {"reasoning_content", "reasoning"}


def services_of(field):
    return make_services(
        TEXT, template=THINKING_TEMPLATE, config=ServerConfig(reasoning_field=field)
    )


def test_by_default_thoughts_are_reasoning_content():
    assert ServerConfig().reasoning_field == "reasoning_content"


@pytest.mark.parametrize("field", FIELDS)
def test_a_message_has_its_thoughts_in_the_chosen_field(field):
    message = choice_of(services_of(field))["message"]
    assert {name for name in THOUGHT_FIELDS if message.get(name) == "hm ☔"} == FIELDS[field]
    assert THOUGHT_FIELDS & set(message) == FIELDS[field]
    assert message["content"] == "ok"


@pytest.mark.parametrize("tokens_per_step", [1, 50])
@pytest.mark.parametrize("field", FIELDS)
def test_a_stream_has_them_there_too(field, tokens_per_step):
    services = services_of(field)
    services.engine.tokens_per_step = tokens_per_step
    deltas = [chunk["choices"][0]["delta"] for chunk in streamed(services)]
    for name in THOUGHT_FIELDS:
        text = "".join(delta.get(name, "") for delta in deltas)
        assert text == ("hm ☔" if name in FIELDS[field] else "")
    assert "".join(delta.get("content", "") for delta in deltas) == "ok"


def test_an_unknown_field_is_refused_at_the_start():
    with pytest.raises(ValueError, match="reasoning_field: 'thoughts' is unknown; use one of reas"):
        ServerConfig(reasoning_field="thoughts")  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("sent", [{"reasoning_content"}, {"reasoning"}, THOUGHT_FIELDS])
def test_thoughts_that_come_back_are_read_from_either_field_once(sent):
    services = make_services("ok", template=MISTRAL_ARGS_TEMPLATE)
    thoughts = dict.fromkeys(sent, "so it is")
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "well", **thoughts},
        {"role": "user", "content": "and?"},
    ]
    response = post(services, messages=messages)
    assert "x-tightrope-unknown" not in response.headers
    assert prompt_of(services).count("so it is") == 1
