"""whole_answer: a generation run to its end and folded to one body."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from server.answer.bodies import choice_body, completion_body, logprobs_body
from server.answer.ids import new_call_id
from server.answer.length_note import length_note
from server.reply.message import ReplyMessage

if TYPE_CHECKING:
    from engine.output import TokenLogprobs
    from grammars.vocabulary import Vocabulary
    from server.admitted_chat import AdmittedChat
    from server.answer.bodies import AnswerHead, Json
    from server.generation import Generation
    from server.reply.choice import FinishName, ReplyStep


async def whole_answer(
    generation: Generation, chat: AdmittedChat, head: AnswerHead, vocabulary: Vocabulary
) -> Json:
    """Run a generation to its end and fold it to a `chat.completion`.

    Raises:
        ServerError: the generation failed.
    """
    messages = [ReplyMessage() for _ in range(chat.num_choices)]
    logprobs: list[list[TokenLogprobs]] = [[] for _ in messages]
    finishes: dict[int, FinishName] = {}
    ends: dict[int, ReplyStep] = {}
    async with aclosing(generation.steps()) as steps:
        async for choice, step in steps:
            for event in step.events:
                messages[choice].add(event)
            logprobs[choice] += step.logprobs
            if step.finish is not None:
                finishes[choice], ends[choice] = step.finish, step
    choices = [
        choice_body(
            head,
            index,
            message,
            [new_call_id() for _ in message.calls],
            finish=finishes[index],
            logprobs=logprobs_body(vocabulary, logprobs[index]) if chat.request.logprobs else None,
            is_legacy=chat.is_legacy,
        )
        for index, message in enumerate(messages)
    ]
    return completion_body(head, choices, generation.usage) | length_note(ends)
