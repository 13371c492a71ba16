"""The bodies of chat answers: `chat.completion` and the chunks of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from server.calls.tool import ToolKind
from server.reply.detokenizer import token_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.output import TokenLogprobs
    from grammars.vocabulary import Vocabulary
    from server.generation import Usage
    from server.reply.choice import FinishName
    from server.reply.message import Call, ReplyMessage

Json: TypeAlias = dict[str, object]

_TEXT_FIELD: Final = {ToolKind.FUNCTION: "arguments", ToolKind.CUSTOM: "input"}
"""What the text of a call is called."""


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """What is the same in every chunk of an answer.

    Args:
        answer_id: `chatcmpl-...`.
        created: Unix time in seconds.
        model: the name that is answered with.
        fingerprint: `system_fingerprint`.
        reasoning_fields: what thoughts are called in messages and deltas.
    """

    answer_id: str
    created: int
    model: str
    fingerprint: str
    reasoning_fields: tuple[str, ...] = ("reasoning_content",)

    def fields(self, kind: str) -> Json:
        """The fields in front of `choices`; `kind` is the `object`."""
        return {
            "id": self.answer_id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
        }

    def reasoning(self, text: str) -> Json:
        """The fields of thoughts."""
        return dict.fromkeys(self.reasoning_fields, text)


def completion_body(head: AnswerHead, choices: Sequence[Json], usage: Usage) -> Json:
    """The body of an answer that is not streamed."""
    return head.fields("chat.completion") | {"choices": list(choices), "usage": usage_body(usage)}


def choice_body(
    head: AnswerHead,
    index: int,
    message: ReplyMessage,
    call_ids: Sequence[str],
    *,
    finish: FinishName,
    logprobs: Json | None,
    is_legacy: bool,
) -> Json:
    """One choice; `call_ids` has an id for each call.

    With `is_legacy` the call is in the older field `function_call`.
    """
    body: Json = {"role": "assistant", "content": message.content, "refusal": None}
    body["annotations"] = []
    if message.reasoning is not None:
        body |= head.reasoning(message.reasoning)
    if message.calls and is_legacy:
        (call,) = message.calls
        body["function_call"] = {"name": call.name, "arguments": call.arguments}
    elif message.calls:
        body["tool_calls"] = [
            {"id": call_id, "type": call.kind.value, call.kind.value: _call_fields(call)}
            for call, call_id in zip(message.calls, call_ids, strict=True)
        ]
    reason = finish_reason(finish, is_legacy=is_legacy)
    return {"index": index, "message": body, "logprobs": logprobs, "finish_reason": reason}


def _call_fields(call: Call) -> Json:
    return {"name": call.name, _TEXT_FIELD[call.kind]: call.arguments}


def finish_reason(finish: FinishName, *, is_legacy: bool) -> str:
    """The `finish_reason` of chat completions."""
    return "function_call" if is_legacy and finish == "tool_calls" else finish


def chunk_body(head: AnswerHead, choices: Sequence[Json]) -> Json:
    """One chunk of a stream."""
    return head.fields("chat.completion.chunk") | {"choices": list(choices)}


def chunk_choice(
    index: int, delta: Json, *, finish: str | None = None, logprobs: Json | None = None
) -> Json:
    """The choice of a chunk."""
    return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}


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
    """The `logprobs` object: natural logarithms, before temperature (docs/api.md)."""
    return {"content": logprobs_content(vocabulary, logprobs), "refusal": None}


def logprobs_content(vocabulary: Vocabulary, logprobs: Sequence[TokenLogprobs]) -> list[Json]:
    """The tokens, each with its logprob and those of the likeliest in its place."""
    return [
        _token_body(vocabulary, entry.token_id, entry.logprob)
        | {"top_logprobs": [_token_body(vocabulary, *likely) for likely in entry.top]}
        for entry in logprobs
    ]


def _token_body(vocabulary: Vocabulary, token_id: int, logprob: float) -> Json:
    text, data = token_text(vocabulary, token_id)
    return {"token": text, "logprob": logprob, "bytes": list(data)}
