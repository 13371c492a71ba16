"""Cases answered by a server in this process: admission, grammar and parsing as over HTTP."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks.bfcl_answer import Answer, Mode
from benchmarks.bfcl_score import Call, is_lost
from server.admission import admit
from server.errors import ServerError
from server.generation import Generation
from server.reply.message import ReplyMessage
from server.wire.checks import check_openai_names
from server.wire.policy import parse_chat_request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.bfcl_cases import Case
    from server.admitted_chat import AdmittedChat
    from server.services import Services


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """What ends an answer that does not end by itself.

    Args:
        max_tokens: of an answer.
        max_text_tokens: of an answer that has begun no call; it is then text, and right only where
            no call is wanted.
    """

    max_tokens: int
    max_text_tokens: int


@dataclass(frozen=True, slots=True)
class Question:
    """A case, and the modes in which it is still to be answered."""

    case: Case
    modes: tuple[Mode, ...]


async def answer_all(
    questions: Sequence[Question],
    model: str,
    services: Services,
    *,
    limits: AnswerLimits,
    num_at_once: int,
    keep: Callable[[Answer], None],
) -> None:
    """Answer all questions greedily; `keep` gets each answer as soon as it is there.

    The modes of a case follow one another, so that its prompt is computed once (prefix cache).
    """
    room = asyncio.Semaphore(num_at_once)
    kept_at = time.process_time()

    async def answer_one(question: Question) -> None:
        nonlocal kept_at
        async with room:
            for mode in question.modes:
                answer = await _answer(question.case, mode, model, services, limits)
                now = time.process_time()
                keep(replace(answer, cpu_s=now - kept_at))
                kept_at = now

    async with asyncio.TaskGroup() as tasks:
        for question in questions:
            tasks.create_task(answer_one(question))


async def _answer(
    case: Case, mode: Mode, model: str, services: Services, limits: AnswerLimits
) -> Answer:
    answer = Answer(model, mode, case.id)
    try:
        parsed = parse_chat_request(_body(case, mode, limits) | {"model": model})
        check_openai_names(parsed.request)
        chat = await admit(parsed, services)
    except ServerError as error:
        return replace(answer, refusal=str(error))
    if mode is Mode.FREE:
        chat = replace(chat, grammar=None)
    return await _generate(chat, case, services, limits, answer)


def _body(case: Case, mode: Mode, limits: AnswerLimits) -> dict[str, Any]:
    body = {
        "messages": list(case.messages),
        "tools": list(case.tools),
        "temperature": 0,
        "max_tokens": limits.max_tokens,
        "tool_choice": "required" if mode is Mode.REQUIRED else "auto",
    }
    if mode is not Mode.FREE:
        body["on_length"] = "close"  # a call that the limit cuts is no call
    return body


async def _generate(
    chat: AdmittedChat, case: Case, services: Services, limits: AnswerLimits, answer: Answer
) -> Answer:
    """Generate the answer until it ends or can no longer become right."""
    message = ReplyMessage()
    generation = Generation(chat, services)
    async with aclosing(generation.steps()) as steps:
        async for _, step in steps:
            for event in step.events:
                message.add(event)
            calls = tuple(Call(c.name, c.arguments) for c in message.calls if c.is_complete)
            num_tokens = generation.usage.num_completion_tokens
            answer = replace(
                answer,
                text="".join(message.text_pieces),
                calls=calls,
                num_tokens=num_tokens,
                is_cut=step.finish == "length" or step.was_closed,
            )
            if step.finish is None and is_lost(case, calls):
                return replace(answer, is_stopped=True)
            if step.finish is None and not message.calls and num_tokens >= limits.max_text_tokens:
                return replace(answer, is_cut=True)
    return answer
