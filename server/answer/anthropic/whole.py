"""whole_message: a generation run to its end and folded to one message."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from server.answer.anthropic.blocks import BlockReader, ContentFold
from server.answer.anthropic.bodies import (
    message_body,
    new_call_ids,
    running_body,
    stop_body,
)

if TYPE_CHECKING:
    from server.answer.anthropic.bodies import MessageHead
    from server.answer.bodies import Json
    from server.generation import Generation


async def whole_message(generation: Generation, head: MessageHead, *, max_tokens: int) -> Json:
    """Run a generation to its end and fold it to a `message`.

    Args:
        generation: of one choice.
        head: of the answer.
        max_tokens: as the request has it.

    Raises:
        ServerError: the generation failed.
    """
    reader, fold = BlockReader(new_call_ids()), ContentFold()
    stop = running_body()
    async with aclosing(generation.steps()) as steps:
        async for _, step in steps:
            for event in step.events:
                for block_event in reader.feed(event):
                    fold.add(block_event)
            if step.finish is not None:
                stop = stop_body(step, generation.usage, max_tokens)
    for block_event in reader.finish():
        fold.add(block_event)
    return message_body(head, fold.content, stop, generation.usage)
