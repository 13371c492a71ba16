"""Ids and the head of a new answer."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from server.answer.bodies import AnswerHead

if TYPE_CHECKING:
    from server.config import ReasoningField
    from server.services import ServedModel


def answer_head(
    model: ServedModel, *, prefix: str, reasoning_field: ReasoningField = "reasoning_content"
) -> AnswerHead:
    """The head of a new answer; its id begins with the prefix, as `chatcmpl-`."""
    both = ("reasoning_content", "reasoning")
    return AnswerHead(
        f"{prefix}{uuid.uuid4().hex}",
        int(time.time()),
        model.names[0],
        model.fingerprint,
        both if reasoning_field == "both" else (reasoning_field,),
    )


def new_call_id() -> str:
    """An id for a tool call, unique over all answers."""
    return f"call_{uuid.uuid4().hex[:24]}"
