"""OutputWriter: the steps of an answer to the events of its output items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from server.answer.bodies import logprobs_content
from server.answer.responses.items import CallItem, MessageItem, OutputItem, ReasoningItem
from server.reply.events import (
    CallArgumentsEvent,
    CallEndEvent,
    CallStartEvent,
    ReasoningEvent,
    TextEvent,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.vocabulary import Vocabulary
    from server.answer.bodies import Json
    from server.reply.choice import ReplyStep
    from server.reply.events import ReplyEvent

_COMPLETED: Final = "completed"
_INCOMPLETE: Final = "incomplete"


class OutputWriter:
    """Opens, fills and closes one item after the other.

    Args:
        vocabulary: of the model, for log probabilities.

    Attributes:
        is_cut: whether the length limit has ended the answer.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._items: list[OutputItem] = []
        self._is_open = False
        self._logprobs: list[Json] = []  # of tokens whose text is still held back
        self.is_cut = False

    @property
    def output(self) -> list[Json]:
        """The items so far."""
        return [dict(item.body) for item in self._items]

    def step(self, step: ReplyStep) -> Iterator[Json]:
        """The events of one step; behind the last step every item is closed.

        An answer of nothing is an empty message.
        """
        self._logprobs += logprobs_content(self._vocabulary, step.logprobs)
        for event in step.events:
            yield from self._tell(event)
        if step.finish is None:
            return
        self.is_cut = step.finish == "length"
        if not self._items:
            yield from self._open(MessageItem(0))
        if self._is_open:
            is_call = isinstance(self._items[-1], CallItem)
            yield from self._close(_INCOMPLETE if self.is_cut or is_call else _COMPLETED)

    def _tell(self, event: ReplyEvent) -> Iterator[Json]:
        match event:
            case TextEvent(text):
                if not self._writes(MessageItem):
                    yield from self._open(MessageItem(len(self._items)))
                yield self._items[-1].add(text, self._take_logprobs())
            case ReasoningEvent(text):
                if not self._writes(ReasoningItem):
                    yield from self._open(ReasoningItem(len(self._items)))
                self._take_logprobs()  # those of the text are told alone
                yield self._items[-1].add(text, [])
            case CallStartEvent(name, kind):
                yield from self._open(CallItem(len(self._items), name, kind))
            case CallArgumentsEvent(text):
                self._take_logprobs()
                yield self._items[-1].add(text, [])
            case CallEndEvent():
                self._take_logprobs()
                yield from self._close(_COMPLETED)
            case _:
                assert_never(event)

    def _writes(self, kind: type[MessageItem | ReasoningItem]) -> bool:
        return self._is_open and isinstance(self._items[-1], kind)

    def _open(self, item: OutputItem) -> Iterator[Json]:
        if self._is_open:
            yield from self._close(_COMPLETED)
        self._items.append(item)
        self._is_open = True
        yield from item.open()

    def _close(self, status: str) -> Iterator[Json]:
        self._is_open = False
        yield from self._items[-1].close(status)

    def _take_logprobs(self) -> list[Json]:
        logprobs, self._logprobs = self._logprobs, []
        return logprobs
