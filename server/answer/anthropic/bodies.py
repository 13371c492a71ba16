"""The bodies of Anthropic's Messages API: messages, usage, stop reasons."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from server.answer.bodies import Json
    from server.generation import Usage
    from server.reply.choice import ReplyStep


@dataclass(frozen=True, slots=True)
class MessageHead:
    """What is known of an answer before it begins.

    Args:
        message_id: `msg_...`.
        model: the name that is answered with.
    """

    message_id: str
    model: str

    @classmethod
    def new(cls, model: str) -> MessageHead:
        """The head of a new answer."""
        return cls(f"msg_{uuid.uuid4().hex[:24]}", model)


def new_call_ids() -> Iterator[str]:
    """Ids for tool uses, unique over all answers."""
    while True:
        yield f"toolu_{uuid.uuid4().hex[:24]}"


def message_body(head: MessageHead, content: Sequence[Json], stop: Json, usage: Usage) -> Json:
    """A message; `stop` is that of `stop_body`, or of `running_body` while it is written."""
    body: Json = {
        "id": head.message_id,
        "type": "message",
        "role": "assistant",
        "model": head.model,
        "content": list(content),
    }
    return body | stop | {"usage": usage_body(usage)}


def running_body() -> Json:
    """How a message ends of which that is not known yet."""
    return {"stop_reason": None, "stop_sequence": None}


def stop_body(step: ReplyStep, usage: Usage, max_tokens: int) -> Json:
    """How a message ends, by the last step of its answer and the tokens that were asked for."""
    is_cut_by_request = usage.num_completion_tokens >= max_tokens
    reason = _stop_reason(step, is_cut_by_request=is_cut_by_request)
    return {"stop_reason": reason, "stop_sequence": step.stop_string}


def _stop_reason(step: ReplyStep, *, is_cut_by_request: bool) -> str:
    match step.finish:
        case "tool_calls":
            return "tool_use"
        case "stop":
            return "end_turn" if step.stop_string is None else "stop_sequence"
        case "length":
            return "max_tokens" if is_cut_by_request else "model_context_window_exceeded"
        case None:
            raise AssertionError("the answer has not ended")
        case _:
            assert_never(step.finish)


def usage_body(usage: Usage) -> Json:
    """The `usage` object: `input_tokens` are those that the prefix cache did not have."""
    return {
        "input_tokens": usage.num_prompt_tokens - usage.num_cached_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.num_cached_tokens,
        "output_tokens": usage.num_completion_tokens,
        "output_tokens_details": {"thinking_tokens": usage.num_reasoning_tokens},
    }
