"""ReplyParser: the text of an answer, piece by piece, to reply events.

Reads thoughts, text and calls in the format of the model (`server.calls.formats`), for instance

    <think>
    thoughts
    </think>

    text
    <tool_call>
    {"name": "f", "arguments": {"a": 1}}
    </tool_call>

Rules:
* A call's end is its arguments' end; tags and braces in strings are data.
* Arguments are forwarded as they come, verbatim. Nothing that was told is ever taken back.
* What does not begin as a call of a known function is text; a call that a limit cuts before its
  arguments is dropped.
* White space beside blocks belongs to them and is dropped.
* Once the arguments are closed the call stands; the rest of a bad block is dropped.
* Every way of cutting the text folds to the same message, in linear time.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, assert_never

from server.calls.syntax import read_words
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.reply.call_arguments import CallArguments
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
from server.reply.tags import find_tag, num_held_back
from server.reply.words import WHITE_SPACE, WordReader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from server.calls.tool import CallableTool

_DEFAULT_FORMAT = ReplyFormat()
_PIECE_CHARS = 4096


class _State(Enum):
    """Where in the format the text is."""

    TEXT = auto()
    REASONING = auto()
    HEAD = auto()  # in a call, before its arguments
    ARGUMENTS = auto()
    TAIL = auto()  # in a call, behind its arguments
    SECTION = auto()  # behind a call, where the next one or the end of all calls must come
    JUNK = auto()  # behind arguments, in what does not belong there: dropped until a tag


class ReplyParser:
    """Parses one answer.

    Args:
        tools: what may be called; none: calls are not looked for.
        thinking: what the prompt says of a block of thoughts.
        reply_format: the format of the model.
        calls_anywhere: calls may stand behind text too; else the answer is calls, or a text in which
            what looks like a call is data.
        token_tags: tags that are control tokens of the model. These come through `feed_tag` only;
            text that spells them is text.
    """

    def __init__(
        self,
        *,
        tools: Iterable[CallableTool] = (),
        thinking: Thinking = Thinking.NONE,
        reply_format: ReplyFormat = _DEFAULT_FORMAT,
        calls_anywhere: bool = True,
        token_tags: Collection[str] = (),
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._syntax = reply_format.calls
        self._thoughts = reply_format.thoughts
        self._calls_anywhere = calls_anywhere
        self._has_text = False
        self._token_tags = token_tags
        self._state = _State.REASONING if thinking is Thinking.OPEN else _State.TEXT
        self._may_think = thinking is Thinking.OPTIONAL
        self._may_open = self._syntax.opener is None and bool(self._tools)  # a call without a tag
        self._drops_space = thinking is Thinking.OPEN  # white space that comes next
        self._space: list[str] = []  # white space that a block may follow, and then drop
        self._held = ""  # the beginning of a tag, perhaps
        self._head = CallHead(self._syntax, (), (), ())
        self._head_text = ""
        self._arguments = CallArguments(self._syntax.arguments, None)
        self._tail = WordReader((), ())
        self._events: list[ReplyEvent] = []

    @property
    def is_reasoning(self) -> bool:
        """Whether the text is inside a block of thoughts."""
        return self._state is _State.REASONING

    def feed(self, text: str) -> list[ReplyEvent]:
        """The events that more text brings."""
        self._feed(text)
        return self._take_events()

    def feed_tag(self, tag: str) -> list[ReplyEvent]:
        """The events that a control token of `token_tags` brings; a stray one is text."""
        self._release_held()
        self._feed_tag(tag)
        return self._take_events()

    def finish(self, *, is_cut: bool = False) -> list[ReplyEvent]:
        """The events that the end of the answer brings: all that was held back.

        Args:
            is_cut: a limit ended the answer, not the model: what began with a call's tag would have
                become one, so it is dropped instead of told as text.
        """
        self._release_held()
        if self._state is _State.HEAD and is_cut and self._syntax.opener is not None:
            self._space = []
        elif self._state is _State.HEAD:
            self._refuse_head()
        self._emit_text("".join(self._space))
        self._space = []
        return self._take_events()

    def _feed(self, text: str) -> None:
        text = self._held + text
        self._held = ""
        position = 0
        while position < len(text):
            position = self._take(text, position)

    def _feed_tag(self, tag: str) -> None:
        match self._state:
            case _State.HEAD:
                self._take_unit_of_head(tag)
            case _State.TAIL:
                self._take_unit_of_tail(tag)
            case _State.ARGUMENTS:
                self._take_arguments(tag)
            case _State.TEXT | _State.REASONING | _State.SECTION | _State.JUNK:
                if tag in self._active_tags():
                    self._enter(tag)
                elif self._state is _State.SECTION:
                    self._leave_section()
                    self._feed_tag(tag)
                else:
                    self._take_plain(tag)
            case _:
                assert_never(self._state)

    def _take(self, text: str, start: int) -> int:
        """Take some of the text from `start` on; return the index of what is left."""
        match self._state:
            case _State.TEXT if self._may_open:
                return self._take_beginning(text, start)
            case _State.TEXT | _State.REASONING | _State.JUNK:
                return self._take_until_tag(text, start)
            case _State.HEAD:
                return start + self._take_unit_of_head(text[start])
            case _State.ARGUMENTS:
                piece = text[start : start + _PIECE_CHARS]  # so that calls are not copied often
                return start + len(piece) - len(self._take_arguments(piece))
            case _State.TAIL:
                return self._take_tail(text, start)
            case _State.SECTION:
                return self._take_section(text, start)
            case _:
                assert_never(self._state)

    def _take_beginning(self, text: str, start: int) -> int:
        """Text in front of which nothing but white space was: bare calls begin here or nowhere."""
        first = _skip_space(text, start)
        self._take_plain(text[start:first])
        if first == len(text):
            return first
        if text[first] == read_words(self._syntax.before_name)[0][0]:
            self._begin_head(self._syntax.before_name, "")
            return first
        if not (self._may_think and self._thoughts.open.startswith(text[first])):
            self._may_open = False
        return self._take_until_tag(text, first)

    def _take_until_tag(self, text: str, start: int) -> int:
        active = self._active_tags()
        tags = [tag for tag in active if tag not in self._token_tags]
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
        may_call = self._tools and (self._calls_anywhere or not self._has_text)
        opener = (self._syntax.opener,) if may_call and self._syntax.opener else ()
        match self._state:
            case _State.TEXT:
                return (self._thoughts.open, *opener) if self._may_think else opener
            case _State.REASONING:
                return (self._thoughts.close,)
            case _State.JUNK:
                return (*((self._syntax.closer,) if self._syntax.closer else ()), *opener)
            case _State.SECTION:
                return self._section_words()
            case _State.HEAD | _State.ARGUMENTS | _State.TAIL:
                return ()
            case _:
                assert_never(self._state)

    def _enter(self, tag: str) -> None:
        """Change the state at an active tag or word."""
        syntax = self._syntax
        if self._state is _State.SECTION:
            self._enter_from_section(tag)
        elif tag == syntax.opener:
            words = (*syntax.section_open, *syntax.before_name)
            self._begin_head(words[1:], tag)
        elif tag == syntax.closer:
            self._end_call()
        else:
            self._space = []
            is_open = tag == self._thoughts.open
            self._state = _State.REASONING if is_open else _State.TEXT
            self._may_think = False
            self._drops_space = True

    def _begin_head(self, words: tuple[str, ...], text: str) -> None:
        self._state = _State.HEAD
        self._head = CallHead(self._syntax, words, self._tools, self._token_tags)
        self._head_text = text

    def _take_unit_of_head(self, unit: str) -> bool:
        """Take a character or control token of a head; False: it is still to be taken."""
        status = self._head.feed(unit)
        if status is HeadStatus.MALFORMED:
            self._refuse_head()
            if len(unit) > 1:
                self._feed_tag(unit)
            return False
        self._head_text += unit
        if status is not HeadStatus.INCOMPLETE:
            self._start_call(has_arguments=status is HeadStatus.ARGUMENTS)
        return True

    def _refuse_head(self) -> None:
        """The block is no call: its text, and the space before it, are text after all."""
        self._state = _State.TEXT
        self._may_open = False
        self._take_plain(self._head_text)

    def _start_call(self, *, has_arguments: bool) -> None:
        self._space, self._drops_space = [], True
        self._may_think = self._may_open = False
        tool = self._tools[self._head.name]
        self._events.append(CallStartEvent(tool.name, tool.kind))
        self._arguments = CallArguments(self._syntax.arguments, tool)
        self._state = _State.ARGUMENTS
        self._tail = WordReader(read_words(self._syntax.after_arguments), self._token_tags)
        if has_arguments:
            self._take_arguments(self._head.arguments)
        else:
            self._take_arguments("{}")
            self._tail.feed("}")

    def _take_arguments(self, text: str) -> str:
        """Take arguments; return what is left behind their end."""
        told, rest = self._arguments.feed(text)
        if told:
            self._events.append(CallArgumentsEvent(told))
        if self._arguments.is_done:
            self._events.append(CallEndEvent())
            self._state = _State.TAIL
            if self._tail.next_word is None:
                self._end_call()
        return rest

    def _take_tail(self, text: str, start: int) -> int:
        """Take the words behind arguments; a closing tag that is missing is not needed."""
        closer = self._syntax.closer
        is_spelled = closer is not None and closer not in self._token_tags
        if not (self._tail.is_last and self._tail.next_word == closer and is_spelled):
            return start + self._take_unit_of_tail(text[start])
        start = _skip_space(text, start)
        rest = text[start : start + len(closer or "")]
        if closer == rest:
            self._end_call()
            return start + len(rest)
        if closer is not None and closer.startswith(rest):
            self._held = rest
            return len(text)
        self._end_call()
        return start

    def _take_unit_of_tail(self, unit: str) -> bool:
        """Take a character or control token of a tail; False: it is still to be taken."""
        if self._tail.feed(unit):
            if self._tail.next_word is None:
                self._end_call()
            return True
        if self._tail.next_word == self._syntax.closer:
            self._end_call()
        else:
            self._state = _State.JUNK
        if len(unit) > 1:
            self._feed_tag(unit)
        return False

    def _end_call(self) -> None:
        self._state = _State.SECTION if self._syntax.is_section else _State.TEXT
        self._drops_space = True

    def _section_words(self) -> tuple[str, ...]:
        """What may come behind a call: the word before the next one, or the end of all."""
        between = read_words(self._syntax.between)
        return (
            *(between or read_words(self._syntax.before_name)[:1]),
            *read_words(self._syntax.section_close),
        )

    def _take_section(self, text: str, start: int) -> int:
        start = _skip_space(text, start)
        if start == len(text):
            return start
        words = [word for word in self._section_words() if word not in self._token_tags]
        for word in words:
            rest = text[start : start + len(word)]
            if rest == word:
                self._enter_from_section(word)
                return start + len(word)
        if any(word.startswith(text[start:]) for word in words):
            self._held = text[start:]
            return len(text)
        self._leave_section()
        return start

    def _enter_from_section(self, word: str) -> None:
        before_name = read_words(self._syntax.before_name)
        if word in self._syntax.section_close:
            self._state = _State.TEXT
        elif word in self._syntax.between:
            self._begin_head(before_name, word)
        else:
            self._begin_head(before_name[1:], word)

    def _leave_section(self) -> None:
        """Neither a call nor the end of all: text, or the rest of a bad block."""
        self._state = _State.JUNK if self._syntax.section_close else _State.TEXT

    def _take_plain(self, text: str) -> None:
        """Take text in which no tag is active."""
        if self._state is _State.TEXT or self._state is _State.REASONING:
            self._take_spaced(text)

    def _take_spaced(self, text: str) -> None:
        """Emit text or thoughts, but hold back white space at the end: a block may follow."""
        if self._drops_space:
            text = text.lstrip(WHITE_SPACE)
            self._drops_space = not text
        bare = text.rstrip(WHITE_SPACE)
        is_text = self._state is _State.TEXT
        if bare and is_text:
            self._may_think = self._may_open = False
            self._has_text = True
        holds = not is_text or bool(self._tools) or self._may_think
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
        """What was held back is no tag; behind arguments it is dropped."""
        held, self._held = self._held, ""
        self._take_plain(held)

    def _take_events(self) -> list[ReplyEvent]:
        events, self._events = self._events, []
        return merge_events(events)


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start] in WHITE_SPACE:
        start += 1
    return start
