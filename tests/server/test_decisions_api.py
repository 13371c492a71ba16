"""POST /v1/decisions: probabilities are those of the model, whatever is asked."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx
import openai
import pytest
import torch
from openai.types import Decision

from engine.async_engine import AsyncEngine
from engine.config import EngineConfig
from engine.load import build_engine
from server.wire.chat_request import ChatCompletionRequest
from server.wire.messages import UserMessage
from tests.engine.support import tiny_model
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.chat_server import (
    CONTROLS,
    MODEL,
    OPEN_THINKING_TEMPLATE,
    make_services,
    running,
)
from tests.support.shared_data import shared_file

if TYPE_CHECKING:
    from server.services import Services

# float32 logits of two implementations of attention: a few 1e-6 of values about 10.
TOLERANCE = 1e-4
CONTEXT_LEN = 2048
ENDS = (256, 258)  # the end of the text and of the message
INPUT = "I was charged twice for ☔"


def model() -> Any:
    vocabulary_size = byte_vocabulary(CONTROLS).padded_size
    return tiny_model(vocab_size=vocabulary_size, max_position_embeddings=CONTEXT_LEN)


def vocabulary() -> Any:
    source = byte_vocabulary(CONTROLS)
    return type(source)(source._source, padded_size=source.padded_size, end_token_ids=ENDS)


@pytest.fixture(scope="module")
def services():
    config = EngineConfig(max_model_len=CONTEXT_LEN, max_num_seqs=8, block_size=8)
    engine = AsyncEngine(build_engine(model(), config, name="tiny"))
    scripted: Services = make_services(max_model_len=CONTEXT_LEN)
    return dataclasses.replace(scripted, engine=engine, vocabulary=vocabulary())


@pytest.fixture(scope="module")
def url(services):
    @asynccontextmanager
    async def lifespan(_app):
        services.engine.start()
        yield
        await services.engine.shutdown()

    with running(services, lifespan) as url:
        yield url


@pytest.fixture
def client(url):
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield client


def by_all_logits(services: Any, question_text: str, answers: list[str]) -> list[float]:
    """The probabilities of the answers, from the logits of whole sequences."""
    chat = ChatCompletionRequest(
        model=MODEL,
        messages=[
            UserMessage(role="user", content=INPUT),
            UserMessage(role="user", content=question_text),
        ],
    )
    prompt = list(services.prompts.build(chat).token_ids)
    weights = []
    for answer in answers:
        tokens = list(answer.encode())
        with torch.inference_mode():
            logits = model()(input_ids=torch.tensor([prompt + tokens])).logits[0]
        logprobs = torch.log_softmax(logits.double(), dim=1)[len(prompt) - 1 :]
        end = sum(math.exp(logprobs[len(tokens), token]) for token in ENDS)
        text = sum(float(logprobs[i, token]) for i, token in enumerate(tokens))
        weights.append(text + math.log(end))
    largest = max(weights)
    exact = [math.exp(weight - largest) for weight in weights]
    return [value / sum(exact) for value in exact]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (["billing", "tech"], ["billing", "tech"]),
        (["a", "ab", "abc", ""], ["a", "ab", "abc", ""]),  # beginnings of each other
        ([True, False], ["true", "false"]),
        (["true", True, "ü"], ['"true"', "true", '"ü"']),  # same text, not the same value
        ([f"{x}{y}" for x, y in itertools.product("0123456789", repeat=2)], None),
    ],
)
def test_choices_have_the_probabilities_of_all_logits(services, client, values, texts):
    texts = texts or values
    question = {
        "type": "choice",
        "name": "cat",
        "instructions": "Classify",
        "choices": [{"value": value, "description": f"about {value}"} for value in values],
    }
    decision = client.decisions.create(model=MODEL, input=INPUT, questions=[question])
    lines = "\n".join(f"- {t}: about {v}" for t, v in zip(texts, values, strict=True))
    asked = f"Classify\n\nAnswer with exactly one of these:\n{lines}"
    expected = by_all_logits(services, asked, texts)
    (answer,) = decision.answers
    got = [entry.probability for entry in answer.probabilities]
    assert got == pytest.approx(expected, abs=TOLERANCE)
    assert sum(got) == pytest.approx(1, abs=1e-12)
    assert [entry.value for entry in answer.probabilities] == values
    assert [type(entry.value) for entry in answer.probabilities] == [type(v) for v in values]
    assert answer.confidence == max(got)
    assert answer.choice == values[got.index(max(got))]
    assert answer.name == "cat"


def test_a_predicate_is_the_probability_of_yes(services, client):
    question: Any = {"type": "predicate", "instructions": "charged twice"}
    (answer,) = client.decisions.create(model=MODEL, input=INPUT, questions=[question]).answers
    asked = (
        "Is this statement about the above true?\ncharged twice\n\nAnswer with one word: yes or no."
    )
    expected = by_all_logits(services, asked, ["yes", "no"])[0]
    assert answer.probability == pytest.approx(expected, abs=TOLERANCE)
    assert answer.name is None


def test_a_score_is_the_mean_of_the_levels(services, client):
    question: Any = {
        "type": "score",
        "instructions": "how angry",
        "levels": [{"label": "calm"}, {"label": "cross", "description": "a bit"}, {"label": "mad"}],
    }
    (answer,) = client.decisions.create(model=MODEL, input=INPUT, questions=[question]).answers
    asked = (
        "how angry\n\nAnswer with exactly one of these levels, the lowest first:\n"
        "- calm\n- cross: a bit\n- mad"
    )
    expected = by_all_logits(services, asked, ["calm", "cross", "mad"])
    assert [p.probability for p in answer.probabilities] == pytest.approx(expected, abs=TOLERANCE)
    assert [(p.value, p.label) for p in answer.probabilities] == [
        *((0, "calm"), (1, "cross"), (2, "mad"))
    ]
    assert answer.score == pytest.approx(expected[1] + 2 * expected[2], abs=2 * TOLERANCE)


def test_answers_come_in_the_order_of_the_questions_and_share_the_input(client):
    text = "word " * 40
    questions: Any = [
        {"type": "predicate", "name": str(index), "instructions": f"statement {index}"}
        for index in range(3)
    ]
    decision = client.decisions.create(model=MODEL, input=text, questions=questions)
    assert [answer.name for answer in decision.answers] == ["0", "1", "2"]
    usage = decision.usage
    # The first question computes the input, the two others find it, but for a part of a block.
    assert 2 * len(text) - 16 < usage.input_tokens_details.cached_tokens < usage.input_tokens
    assert (usage.output_tokens, usage.total_tokens) == (0, usage.input_tokens)
    again = client.decisions.create(model=MODEL, input=text, questions=questions)
    assert again.answers == decision.answers


def test_calls_and_json_are_evidence(client):
    decision = client.decisions.create(
        model=MODEL,
        input=[
            {"role": "user", "content": [{"type": "input_json", "data": {"a": [1, "ü"]}}]},
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "done"},
        ],
        questions=[{"type": "predicate", "instructions": [{"type": "input_text", "text": "ok"}]}],
    )
    assert 0 < decision.answers[0].probability < 1


def test_the_recorded_request_is_answered(url):
    for line in shared_file("wire/dec.jsonl").read_text().splitlines():
        body = json.loads(line)["body"] | {"model": MODEL}
        answer = httpx.post(f"{url}/v1/decisions", json=body)
        assert answer.status_code == 200
        decision = Decision.model_validate_json(answer.content, strict=True)
        assert [entry.type for entry in decision.answers] == ["choice", "predicate", "score"]
        assert answer.headers["x-tightrope-unknown"] == (
            "questions[2].levels[0].value, questions[2].levels[1].value"
        )


YES_NO = [{"type": "predicate", "instructions": "x"}]


@pytest.mark.parametrize(
    ("fields", "status", "param", "message"),
    [
        ({"questions": []}, 400, "questions", "questions: at least 1 is needed, got 0"),
        ({"questions": YES_NO * 401}, 400, "questions", "at most 400 items"),
        (
            {"questions": [{"type": "choice", "instructions": "x", "choices": [{"value": "a"}]}]},
            400,
            "questions[0].choices",
            "at least 2 are needed",
        ),
        (
            {
                "questions": [
                    *YES_NO,
                    {"type": "choice", "instructions": "x", "choices": [{"value": "a"}] * 2},
                ]
            },
            400,
            "questions[1].choices",
            "two answers are the same",
        ),
        ({"model": "other"}, 404, "model", "'other' is not served here"),
        ({"stream": True}, 400, "stream", "probabilities come at once"),
        ({"input": "x" * 4000}, 400, "input", "maximum context length is 2048"),
        (
            {"input": [{"type": "function_call_output", "call_id": "7", "output": "x"}]},
            400,
            "input[0].role",
            "has a tool call '7'",
        ),
        (
            {"input": [{"type": "function_call", "call_id": "7", "name": "f", "arguments": ""}]},
            400,
            "input",
            "must answer these calls first: 7",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]},
            400,
            "input[0].content[0].type",
            "the served models read text alone",
        ),
    ],
)
def test_refusals_name_the_field(url, fields, status, param, message):
    body = {"model": MODEL, "input": "hi", "questions": YES_NO} | fields
    answer = httpx.post(f"{url}/v1/decisions", json=body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert error["param"] == param
    assert message in error["message"]


def test_a_model_that_always_thinks_is_refused():
    with running(make_services(template=OPEN_THINKING_TEMPLATE)) as url:
        body = {"model": MODEL, "input": "hi", "questions": YES_NO}
        error = httpx.post(f"{url}/v1/decisions", json=body).json()["error"]
    assert (error["param"], error["code"]) == ("model", "unsupported_value")


def test_a_dead_engine_is_told():
    services = make_services(is_alive=False)
    with running(services) as url:
        body = {"model": MODEL, "input": "hi", "questions": YES_NO}
        assert httpx.post(f"{url}/v1/decisions", json=body).status_code == 503
