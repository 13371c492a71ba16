"""ReplyParser: the text of an answer, piece by piece, to reply events.

Reads `<think>` blocks and Hermes tool calls, the form of Qwen and Hermes models:

    <think>
    thoughts
    </think>

    text
    <tool_call>
    {"name": "f", "arguments": {"a": 1}}
    </tool_call>

Rules:
* A call's end is its JSON object's end; tags and braces in strings are data.
* Arguments are forwarded as they come, verbatim. Nothing that was told is ever taken back.
* A block that does not begin as a call of a known function is text; one that a limit cuts before
  its arguments is dropped.
* White space beside blocks belongs to them and is dropped.
* Once the object is closed the call stands, whatever follows; the rest of a bad block is dropped.
* Every way of cutting the text folds to the same message, in linear time.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, assert_never

from server.chat.thinking import THINK_CLOSE, THINK_OPEN, Thinking
from server.reply.call_head import CallHead, HeadStatus
from server.reply.events import (
    CallArgumentsEvent,
    CallEndEvent,
    CallStartEvent,
    ReasoningEvent,
    ReplyEvent,
    TextEvent,
    merge_events,
)
from server.reply.json_span import JsonSpan
from server.reply.tags import find_tag, num_held_back

if TYPE_CHECKING:
    from collections.abc import Collection

CALL_OPEN = "<tool_call>"
CALL_CLOSE = "</tool_call>"
REPLY_TAGS = (THINK_OPEN, THINK_CLOSE, CALL_OPEN, CALL_CLOSE)

_WHITE_SPACE = " \t\n\r"


class _State(Enum):
    """Where in the grammar of the module's docstring the text is."""

    TEXT = auto()
    REASONING = auto()
    HEAD = auto()  # behind <tool_call>, before the arguments
    ARGUMENTS = auto()
    OUTER_BRACE = auto()  # behind the arguments, before the call's own "}"
    CLOSING = auto()  # behind the call's "}", before </tool_call>
    JUNK = auto()  # behind the arguments, in what is no JSON: dropped until </tool_call>


class ReplyParser:
    """Parses one answer.

    Args:
        function_names: the functions that may be called; none: calls are not looked for.
        thinking: what the prompt says of a reasoning block.
        token_tags: tags that are control tokens of the model. These come through `feed_tag` only;
            text that spells them is text.
    """

    def __init__(
        self,
        *,
        function_names: Collection[str] = (),
        thinking: Thinking = Thinking.NONE,
        token_tags: Collection[str] = (),
    ) -> None:
        self._function_names = function_names
        self._token_tags = token_tags
        self._state = _State.REASONING if thinking is Thinking.OPEN else _State.TEXT
        self._may_think = thinking is Thinking.OPTIONAL
        self._drops_space = thinking is Thinking.OPEN  # white space that comes next
        self._space: list[str] = []  # white space that a block may follow, and then drop
        self._held = ""  # the beginning of a tag, perhaps
        self._head = CallHead(())
        self._head_text = ""
        self._span = JsonSpan()
        self._events: list[ReplyEvent] = []

    @property
    def is_reasoning(self) -> bool:
        """Whether the text is inside a reasoning block."""
        return self._state is _State.REASONING

    def feed(self, text: str) -> list[ReplyEvent]:
        """The events that more text brings."""
        text = self._held + text
        self._held = ""
        position = 0
        while position < len(text):
            position = self._take(text, position)
        return self._take_events()

    def feed_tag(self, tag: str) -> list[ReplyEvent]:
        """The events that a control token of `token_tags` brings; a stray one is text."""
        self._release_held()
        if self._state is _State.HEAD:
            self._refuse_head()
        if tag in self._active_tags():
            self._enter(tag)
        else:
            self._take_plain(tag)
        return self._take_events()

    def finish(self, *, is_cut: bool = False) -> list[ReplyEvent]:
        """The events that the end of the answer brings: all that was held back.

        Args:
            is_cut: a limit ended the answer, not the model: what began as a call would have become
                one, so it is dropped instead of told as text.
        """
        self._release_held()
        if self._state is _State.HEAD and is_cut:
            self._space = []
        elif self._state is _State.HEAD:
            self._refuse_head()
        self._emit_text("".join(self._space))
        self._space = []
        return self._take_events()

    def _take(self, text: str, start: int) -> int:
        """Take some of the text from `start` on; return the index of what is left."""
        match self._state:
            case _State.TEXT | _State.REASONING | _State.JUNK:
                return self._take_until_tag(text, start)
            case _State.HEAD:
                return self._take_head(text, start)
            case _State.ARGUMENTS:
                return self._take_arguments(text, start)
            case _State.OUTER_BRACE:
                start = _skip_space(text, start)
                if start == len(text):
                    return start
                is_closed = text[start] == "}"
                self._state = _State.CLOSING if is_closed else _State.JUNK
                return start + is_closed
            case _State.CLOSING:
                return self._take_closing(text, start)
            case _:
                assert_never(self._state)

    def _take_until_tag(self, text: str, start: int) -> int:
        tags = [tag for tag in self._active_tags() if tag not in self._token_tags]
        found = find_tag(text, tags, start)
        if found is None:
            end = len(text) - num_held_back(text, start, tags)
            self._take_plain(text[start:end])
            self._held = text[end:]
            return len(text)
        index, tag = found
        self._take_plain(text[start:index])
        if tag in self._active_tags():
            self._enter(tag)
        else:  # `<think>` behind text that came with it
            self._take_plain(tag)
        return index + len(tag)

    def _active_tags(self) -> tuple[str, ...]:
        calls = (CALL_OPEN,) if self._function_names else ()
        match self._state:
            case _State.TEXT:
                return (THINK_OPEN, *calls) if self._may_think else calls
            case _State.REASONING:
                return (THINK_CLOSE,)
            case _State.OUTER_BRACE | _State.CLOSING | _State.JUNK:
                return (CALL_CLOSE, CALL_OPEN)
            case _State.HEAD | _State.ARGUMENTS:
                return ()
            case _:
                assert_never(self._state)

    def _enter(self, tag: str) -> None:
        """Change the state at an active tag."""
        if tag == CALL_OPEN:
            self._state = _State.HEAD
            self._head = CallHead(self._function_names)
            self._head_text = CALL_OPEN
            return
        if tag != CALL_CLOSE:
            self._space = []
        self._state = _State.REASONING if tag == THINK_OPEN else _State.TEXT
        self._may_think = False
        self._drops_space = True

    def _take_head(self, text: str, start: int) -> int:
        for index in range(start, len(text)):
            status = self._head.feed(text[index])
            if status is HeadStatus.MALFORMED:
                self._refuse_head()
                return index
            self._head_text += text[index]
            if status is not HeadStatus.INCOMPLETE:
                self._start_call(has_arguments=status is HeadStatus.ARGUMENTS)
                return index + 1
        return len(text)

    def _refuse_head(self) -> None:
        """The block is no call: its text, and the space before it, are text after all."""
        self._state = _State.TEXT
        self._take_plain(self._head_text)

    def _start_call(self, *, has_arguments: bool) -> None:
        self._space, self._drops_space, self._may_think = [], True, False
        self._events.append(CallStartEvent(self._head.name))
        if not has_arguments:
            self._events += [CallArgumentsEvent("{}"), CallEndEvent()]
            self._state = _State.CLOSING
            return
        self._state = _State.ARGUMENTS
        self._span = JsonSpan()
        self._events.append(CallArgumentsEvent("{"))
        self._take_arguments(self._head.arguments, 1)

    def _take_arguments(self, text: str, start: int) -> int:
        end = self._span.find_end(text, start)
        if arguments := text[start:end]:
            self._events.append(CallArgumentsEvent(arguments))
        if end is None:
            return len(text)
        self._events.append(CallEndEvent())
        self._state = _State.OUTER_BRACE
        return end

    def _take_closing(self, text: str, start: int) -> int:
        start = _skip_space(text, start)
        rest = text[start : start + len(CALL_CLOSE)]
        if CALL_CLOSE in self._token_tags or not CALL_CLOSE.startswith(rest):
            self._state = _State.TEXT if rest else self._state
            return start
        if rest != CALL_CLOSE:
            self._held = rest
            return len(text)
        self._enter(CALL_CLOSE)
        return start + len(CALL_CLOSE)

    def _take_plain(self, text: str) -> None:
        """Take text in which no tag is active."""
        match self._state:
            case _State.TEXT | _State.REASONING:
                self._take_spaced(text)
            case _State.ARGUMENTS:
                self._take_arguments(text, 0)
            case _State.CLOSING:
                self._state = _State.TEXT
                self._take_spaced(text)
            case _State.OUTER_BRACE | _State.JUNK:
                self._state = _State.JUNK
            case _State.HEAD:
                raise AssertionError("a head takes characters")
            case _:
                assert_never(self._state)

    def _take_spaced(self, text: str) -> None:
        """Emit text or thoughts, but hold back white space at the end: a block may follow."""
        if self._drops_space:
            text = text.lstrip(_WHITE_SPACE)
            self._drops_space = not text
        bare = text.rstrip(_WHITE_SPACE)
        if bare:
            self._may_think = False
        holds = self._state is _State.REASONING or bool(self._function_names) or self._may_think
        end = len(bare) if holds else len(text)
        if end:
            self._emit_text("".join(self._space) + text[:end])
            self._space = []
        self._space.append(text[end:])

    def _emit_text(self, text: str) -> None:
        if text:
            is_reasoning = self._state is _State.REASONING
            self._events.append(ReasoningEvent(text) if is_reasoning else TextEvent(text))

    def _release_held(self) -> None:
        """What was held back is no tag; in the rest of a block it is dropped."""
        held, self._held = self._held, ""
        if self._state is _State.TEXT or self._state is _State.REASONING:
            self._take_spaced(held)

    def _take_events(self) -> list[ReplyEvent]:
        events, self._events = self._events, []
        return merge_events(events)


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start] in _WHITE_SPACE:
        start += 1
    return start
