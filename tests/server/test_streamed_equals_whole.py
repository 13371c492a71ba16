"""The law of answers: for every text, format and cut, the stream folds to the whole answer."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from engine.output import FinishReason, RequestOutput
from engine.request import SamplingParams
from server.admitted_chat import AdmittedChat
from server.answer.bodies import AnswerHead
from server.answer.stream import streamed_answer
from server.answer.whole import whole_answer
from server.calls.formats import FORMATS, calls_text
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.generation import Usage
from server.reply.choice import ChoiceReply
from server.tool_choice import tool_use
from server.wire.policy import parse_chat_request
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.scripted_engine import token_ids_of

HEAD = AnswerHead("chatcmpl-1", 1, "m", "fp")
SCHEMA: Any = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}},
    "required": ["a"],
}
TOOLS: Any = [
    {"type": "function", "function": {"name": "f", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "g"}},
]
CUSTOM: Any = {"type": "custom", "custom": {"name": "code"}}


class Script:
    """A generation whose one choice is a token sequence, some tokens at a time."""

    def __init__(self, chat: AdmittedChat, vocabulary, token_ids, cuts, reason) -> None:
        self._chat, self._vocabulary, self._reason = chat, vocabulary, reason
        places = sorted({0, len(token_ids), *(min(cut, len(token_ids)) for cut in cuts)})
        self._steps = [token_ids[a:b] for a, b in pairwise(places)]
        self.usage = Usage(1)

    async def steps(self):
        chat = self._chat
        reply = ChoiceReply(
            self._vocabulary,
            reply_format=chat.reply_format,
            tools=chat.tools.tools,
            thinking=chat.thinking,
            stops=chat.stops,
        )
        for token_ids in self._steps:
            step = reply.add(RequestOutput("r", tuple(token_ids)))
            yield 0, step
        yield 0, reply.add(RequestOutput("r", (), finish_reason=self._reason))


def chat_of(syntax, tools: list[Any], thinking: Thinking, stops: tuple[str, ...]) -> AdmittedChat:
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}], "tools": tools}
    request = parse_chat_request(body).request
    return AdmittedChat(
        request=request,
        prompt_token_ids=(1,),
        sampling=SamplingParams(10),
        grammar=None,
        tools=tool_use(request),
        calls_anywhere=True,
        reply_format=ReplyFormat(syntax),
        thinking=thinking,
        stops=stops,
        enforced=(),
        ignored=(),
        unknown=(),
    )


def whole(script: Any, chat: AdmittedChat, vocabulary) -> Any:
    return asyncio.run(whole_answer(script, chat, HEAD, vocabulary))


def stream(script: Any, chat: AdmittedChat, vocabulary) -> list[Any]:
    async def collect() -> list[bytes]:
        return [chunk async for chunk in streamed_answer(script, chat, HEAD, vocabulary)]

    chunks = [chunk.decode().removeprefix("data: ").strip() for chunk in asyncio.run(collect())]
    assert chunks[-1] == "[DONE]"
    return [json.loads(chunk) for chunk in chunks[:-1]]


def accumulated(chunks: list[Any]) -> Any:
    """What OpenAI's accumulator makes of the chunks."""
    state = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
    return state.current_completion_snapshot


def facts(completion: Any) -> Any:
    """A completion, without the ids of its calls, which are new each time."""
    (choice,) = completion.choices
    message = choice.message
    calls = [(c.function.name, c.function.arguments) for c in message.tool_calls or []]
    reasoning = getattr(message, "reasoning_content", None)
    return choice.finish_reason, message.content or None, reasoning, calls


@pytest.mark.parametrize("syntax", FORMATS.values(), ids=lambda syntax: syntax.name)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_model_text_streams_to_the_answer_that_is_not_streamed(syntax, data):
    """Laws 1, 2 and 4 of such servers; also with stop strings and broken UTF-8."""
    fragments = st.sampled_from(
        [
            *syntax.tags,
            *("<", "</think>", "<think>", "\n", " ", "hm", "é", "☔", "STOP", "ST", '"', "{", "}"),
            *('{"name": "', "f", "<parameter=a>\n", "x\n</parameter>", "</function>", "]"),
            calls_text(syntax, [("f", {"a": "</tool_call> é"})]),
            calls_text(syntax, [("g", {}), ("f", {"a": "1", "b": None})]),
            calls_text(syntax, [("nobody", {"a": "1"})]),
        ]
    )
    text = "".join(data.draw(st.lists(fragments, max_size=8)))
    vocabulary = byte_vocabulary(data.draw(st.sampled_from([(), syntax.tags])))
    token_ids = token_ids_of(vocabulary, text)
    if data.draw(st.booleans()):
        token_ids = [t for t in token_ids if t != 0x98]  # the middle of some characters
    chat = chat_of(
        syntax,
        data.draw(st.sampled_from([[], TOOLS])),
        data.draw(st.sampled_from(list(Thinking))),
        data.draw(st.sampled_from([(), ("STOP", "\n\n")])),
    )
    reason = data.draw(st.sampled_from([FinishReason.STOP, FinishReason.LENGTH]))
    cuts = data.draw(st.lists(st.integers(0, len(token_ids)), max_size=10))
    at_once = Script(chat, vocabulary, token_ids, [], reason)
    body = whole(at_once, chat, vocabulary)
    expected = facts(ChatCompletion.model_validate(body))
    script = Script(chat, vocabulary, token_ids, cuts, reason)
    chunks = stream(script, chat, vocabulary)
    assert facts(accumulated(chunks)) == expected
    assert script.usage == at_once.usage
    finish, _, _, calls = expected
    if finish == "tool_calls":
        assert calls


def test_b021_b019_calls_are_numbered_and_the_stream_ends_with_tool_calls():
    tools = [{"type": "function", "function": {"name": f"tool_{i}"}} for i in range(25)]
    text = calls_text(FORMATS["hermes"], [("tool_3", {}), ("tool_17", {})])
    chat = chat_of(FORMATS["hermes"], tools, Thinking.NONE, ())
    vocabulary = byte_vocabulary(())
    script = Script(chat, vocabulary, token_ids_of(vocabulary, text), range(200), FinishReason.STOP)
    chunks = stream(script, chat, vocabulary)
    pieces = [p for c in chunks for p in c["choices"][0]["delta"].get("tool_calls", [])]
    assert [(p["index"], p["function"]["name"]) for p in pieces if "id" in p] == [
        (0, "tool_3"),
        (1, "tool_17"),
    ]
    assert len({p["id"] for p in pieces if "id" in p}) == 2  # B020, B022
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_custom_calls_stream_to_the_text_that_is_not_streamed():
    text = calls_text(FORMATS["hermes"], [("code", {"input": 'é "x"\n\U0001f600\\'})])
    chat = chat_of(FORMATS["hermes"], [CUSTOM], Thinking.NONE, ())
    vocabulary = byte_vocabulary(())
    token_ids = token_ids_of(vocabulary, text)
    script = Script(chat, vocabulary, token_ids, range(200), FinishReason.STOP)
    pieces = [
        piece["custom"]
        for chunk in stream(script, chat, vocabulary)
        for piece in chunk["choices"][0]["delta"].get("tool_calls", [])
    ]
    body = whole(Script(chat, vocabulary, token_ids, [], FinishReason.STOP), chat, vocabulary)
    (call,) = body["choices"][0]["message"]["tool_calls"]
    assert "".join(piece["input"] for piece in pieces) == call["custom"]["input"]
    assert call["custom"]["input"] == 'é "x"\n\U0001f600\\'
