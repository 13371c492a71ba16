"""The bodies of chat answers: `chat.completion` and the chunks of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from server.reply.detokenizer import token_text
from server.reply.events import (
    CallArgumentsEvent,
    CallEndEvent,
    CallStartEvent,
    ReasoningEvent,
    ReplyEvent,
    TextEvent,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.output import TokenLogprobs
    from grammars.vocabulary import Vocabulary
    from server.generation import Usage
    from server.reply.choice import FinishName
    from server.reply.message import ReplyMessage

Json: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """What is the same in every chunk of an answer.

    Args:
        answer_id: `chatcmpl-...`.
        created: Unix time in seconds.
        model: the name that is answered with.
        fingerprint: `system_fingerprint`.
    """

    answer_id: str
    created: int
    model: str
    fingerprint: str

    def fields(self, kind: str) -> Json:
        """The fields in front of `choices`; `kind` is the `object`."""
        return {
            "id": self.answer_id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
        }


def completion_body(head: AnswerHead, choices: Sequence[Json], usage: Usage) -> Json:
    """The body of an answer that is not streamed."""
    return head.fields("chat.completion") | {"choices": list(choices), "usage": usage_body(usage)}


def choice_body(
    index: int,
    message: ReplyMessage,
    call_ids: Sequence[str],
    *,
    finish: FinishName,
    logprobs: Json | None,
) -> Json:
    """One choice; `call_ids` has an id for each call."""
    body: Json = {"role": "assistant", "content": message.content, "refusal": None}
    body["annotations"] = []
    if message.reasoning is not None:
        body["reasoning_content"] = message.reasoning
    if message.calls:
        body["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call, call_id in zip(message.calls, call_ids, strict=True)
        ]
    return {"index": index, "message": body, "logprobs": logprobs, "finish_reason": finish}


def chunk_body(head: AnswerHead, choices: Sequence[Json]) -> Json:
    """One chunk of a stream."""
    return head.fields("chat.completion.chunk") | {"choices": list(choices)}


def chunk_choice(
    index: int, delta: Json, *, finish: FinishName | None = None, logprobs: Json | None = None
) -> Json:
    """The choice of a chunk."""
    return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}


def event_delta(event: ReplyEvent, call_index: int, call_id: str) -> Json | None:
    """The delta that tells an event; None for one that clients see by what follows.

    Args:
        event: what happened.
        call_index: of the running call, or of the one that starts.
        call_id: its id, sent with its start only.
    """
    match event:
        case TextEvent(text):
            return {"content": text}
        case ReasoningEvent(text):
            return {"reasoning_content": text}
        case CallStartEvent(name):
            function = {"name": name, "arguments": ""}
            start = {"index": call_index, "id": call_id, "type": "function", "function": function}
            return {"tool_calls": [start]}
        case CallArgumentsEvent(text):
            return {"tool_calls": [{"index": call_index, "function": {"arguments": text}}]}
        case CallEndEvent():
            return None
        case _:
            assert_never(event)


def usage_body(usage: Usage) -> Json:
    """The `usage` object."""
    return {
        "prompt_tokens": usage.num_prompt_tokens,
        "completion_tokens": usage.num_completion_tokens,
        "total_tokens": usage.num_prompt_tokens + usage.num_completion_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.num_cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.num_reasoning_tokens},
    }


def logprobs_body(vocabulary: Vocabulary, logprobs: Sequence[TokenLogprobs]) -> Json:
    """The `logprobs` object: natural logarithms after the mask, before temperature."""
    content = []
    for entry in logprobs:
        top = [_token_body(vocabulary, token_id, value) for token_id, value in entry.top]
        content.append(
            _token_body(vocabulary, entry.token_id, entry.logprob) | {"top_logprobs": top}
        )
    return {"content": content, "refusal": None}


def _token_body(vocabulary: Vocabulary, token_id: int, logprob: float) -> Json:
    text, data = token_text(vocabulary, token_id)
    return {"token": text, "logprob": logprob, "bytes": list(data)}
