"""ResponseHead: the body of a response, at whatever stage it is."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.answer.bodies import Json
    from server.generation import Usage
    from server.wire.responses.request import ResponsesRequest


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """What is the same from the first to the last body of a response.

    Args:
        response_id: `resp_...`.
        created_at: Unix time in seconds.
        model: the name that is answered with.
        request: what was asked, which bodies repeat.
    """

    response_id: str
    created_at: int
    model: str
    request: ResponsesRequest

    @classmethod
    def new(cls, model: str, request: ResponsesRequest) -> ResponseHead:
        """The head of a new response."""
        return cls(f"resp_{uuid.uuid4().hex}", int(time.time()), model, request)

    def running(self) -> Json:
        """The body while nothing has been written."""
        return self._body("in_progress", [])

    def ended(self, output: Sequence[Json], usage: Usage, *, is_cut: bool) -> Json:
        """The body of a whole answer, or of one that the length limit has cut."""
        body = self._body("incomplete" if is_cut else "completed", output)
        if is_cut:
            body["incomplete_details"] = {"reason": "max_output_tokens"}
        else:
            body["completed_at"] = int(time.time())
        body["usage"] = _usage_body(usage)
        return body

    def failed(self, output: Sequence[Json], message: str) -> Json:
        """The body of an answer that a fault has ended."""
        error = {"code": "server_error", "message": message}
        return self._body("failed", output) | {"error": error}

    def _body(self, status: str, output: Sequence[Json]) -> Json:
        request = self.request
        asked = request.model_dump(
            mode="json", by_alias=True, exclude_unset=True, include={"tools", "tool_choice"}
        )
        effort = None if request.reasoning is None else request.reasoning.effort
        return {
            "id": self.response_id,
            "object": "response",
            "created_at": self.created_at,
            "completed_at": None,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": request.instructions,
            "max_output_tokens": request.max_output_tokens,
            "max_tool_calls": request.max_tool_calls,
            "metadata": request.metadata or {},
            "model": self.model,
            "output": list(output),
            "parallel_tool_calls": request.parallel_tool_calls is not False,
            "previous_response_id": request.previous_response_id,
            "reasoning": {"effort": effort, "summary": None},
            "store": request.store is not False,
            "temperature": 1.0 if request.temperature is None else request.temperature,
            "text": _text_body(request),
            "tool_choice": asked.get("tool_choice") or "auto",
            "tools": asked.get("tools") or [],
            "top_logprobs": request.top_logprobs or 0,
            "top_p": 1.0 if request.top_p is None else request.top_p,
            "truncation": "disabled",
            "usage": None,
        }


def _text_body(request: ResponsesRequest) -> Json:
    text = request.text
    if text is None or text.format is None:
        body: Json = {"format": {"type": "text"}}
    else:
        body = {"format": text.format.model_dump(mode="json", by_alias=True, exclude_unset=True)}
    return body | {"verbosity": (text and text.verbosity) or "medium"}


def _usage_body(usage: Usage) -> Json:
    return {
        "input_tokens": usage.num_prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.num_cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.num_completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.num_reasoning_tokens},
        "total_tokens": usage.num_prompt_tokens + usage.num_completion_tokens,
    }
