"""fold: the message that the events of an answer come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.reply.message import ReplyMessage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from server.reply.events import ReplyEvent


def fold(events: Iterable[ReplyEvent]) -> ReplyMessage:
    """All events of one answer, in order, as its message."""
    message = ReplyMessage()
    for event in events:
        message.add(event)
    return message
