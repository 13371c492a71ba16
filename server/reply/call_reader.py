"""CallReader: reads the calls that begin at one place of an answer, in any format."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, assert_never

from server.calls.syntax import ArgumentForm, read_words
from server.reply.call_arguments import CallArguments
from server.reply.call_head import CallHead, HeadStatus
from server.reply.events import CallArgumentsEvent, CallEndEvent, CallStartEvent, ReplyEvent
from server.reply.tags import find_tag, num_held_back
from server.reply.words import WHITE_SPACE, WordReader

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from server.calls.syntax import CallSyntax, Words
    from server.calls.tool import CallableTool

_PIECE_CHARS = 4096  # arguments are taken in pieces, so that what follows them is not copied often


class _State(Enum):
    """Where in the calls the text is."""

    HEAD = auto()  # before the arguments
    ARGUMENTS = auto()
    TAIL = auto()  # behind the arguments
    SECTION = auto()  # behind a call, where the next one or the end of all calls must come
    JUNK = auto()  # behind arguments, in what does not belong there: dropped until a tag
    OVER = auto()


class CallReader:
    """Takes text from behind the word that began the calls, up to their end.

    Args:
        syntax: the format.
        tools: what may be called, by name.
        token_tags: tags that are control tokens of the model.
        opener: the tag that began the calls, which has been read; "" where none begins them.

    Attributes:
        has_calls: whether a call has started.
        is_waiting: what is left of the text may be the beginning of a word: it must come again
            with what follows it.
        refused: at the end: text that turned out to be no call, and is content.
    """

    def __init__(
        self,
        syntax: CallSyntax,
        tools: Mapping[str, CallableTool],
        token_tags: Collection[str],
        opener: str,
    ) -> None:
        self._syntax = syntax
        self._tools = tools
        self._token_tags = token_tags
        self.has_calls = False
        self.is_waiting = False
        self.refused = ""
        self._events: list[ReplyEvent] = []
        self._state = _State.HEAD
        self._head_text = ""
        words = (*syntax.section_open, *syntax.before_name)
        self._begin_head(words[1:] if opener else words, opener)

    @property
    def is_over(self) -> bool:
        """Whether the calls have ended: the text goes on."""
        return self._state is _State.OVER

    def take_events(self) -> list[ReplyEvent]:
        """The events since the last time."""
        events, self._events = self._events, []
        return events

    def take(self, text: str, start: int) -> int:
        """Take some of the text from `start` on; return the index of what is left."""
        self.is_waiting = False
        match self._state:
            case _State.HEAD:
                return start + self._take_unit_of_head(text[start])
            case _State.ARGUMENTS:
                piece = text[start : start + _PIECE_CHARS]
                return start + len(piece) - len(self._take_arguments(piece))
            case _State.TAIL:
                return self._take_tail(text, start)
            case _State.SECTION:
                return self._take_section(text, start)
            case _State.JUNK:
                return self._take_junk(text, start)
            case _State.OVER:
                return start
            case _:
                assert_never(self._state)

    def take_tag(self, tag: str) -> bool:
        """Take a control token; False: the calls are over, and it is still to be taken."""
        match self._state:
            case _State.HEAD:
                return self._take_unit_of_head(tag)
            case _State.ARGUMENTS:
                self._take_arguments(tag)
            case _State.TAIL:
                return self._take_unit_of_tail(tag) or self.take_tag(tag)
            case _State.SECTION if tag in self._section_words():
                self._enter_from_section(tag)
            case _State.SECTION:
                self._leave_section()
                return self.take_tag(tag)
            case _State.JUNK:
                self._enter_from_junk(tag)
            case _State.OVER:
                return False
            case _:
                assert_never(self._state)
        return True

    def finish(self, *, is_cut: bool) -> None:
        """End the calls where the answer ends.

        Args:
            is_cut: by a limit: what began with a tag would have become a call, and is dropped.
        """
        if self._state is _State.HEAD and not (is_cut and self._syntax.opener is not None):
            self.refused = self._head_text
        self._state = _State.OVER

    def _begin_head(self, words: Words, text: str) -> None:
        self._state = _State.HEAD
        self._head = CallHead(self._syntax, words, self._tools, self._token_tags)
        self._head_text = text

    def _take_unit_of_head(self, unit: str) -> bool:
        """Take a character or control token of a head; False: it is no call, and not taken."""
        status = self._head.feed(unit)
        if status is HeadStatus.MALFORMED:
            self.refused = self._head_text
            self._state = _State.OVER
            return False
        self._head_text += unit
        if status is not HeadStatus.INCOMPLETE:
            self._start_call(has_arguments=status is HeadStatus.ARGUMENTS)
        return True

    def _start_call(self, *, has_arguments: bool) -> None:
        self.has_calls = True
        tool = self._tools[self._head.name]
        self._events.append(CallStartEvent(tool.name, tool.kind))
        self._arguments = CallArguments(self._syntax.arguments, tool)
        after = read_words(self._syntax.after_arguments)
        if self._syntax.arguments is ArgumentForm.PARAMETERS:
            after = after[1:]  # `</function>` ends the parameters, and is read with them
        self._tail = WordReader(after, self._token_tags)
        self._state = _State.ARGUMENTS
        if has_arguments:
            self._take_arguments(self._head.arguments)
        else:  # `{"name": "f"}`, of which the last brace was read
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
        if closer is None or closer in self._token_tags or self._tail.next_word != closer:
            return start + self._take_unit_of_tail(text[start])
        first = _skip_space(text, start)
        rest = text[first : first + len(closer)]
        self.is_waiting = rest != closer and closer.startswith(rest)
        if self.is_waiting:
            return first
        self._end_call()
        return first + len(closer) if rest == closer else first

    def _take_unit_of_tail(self, unit: str) -> bool:
        """Take a character or control token of a tail; False: it was not taken."""
        if self._tail.feed(unit):
            if self._tail.next_word is None:
                self._end_call()
            return True
        if self._tail.next_word == self._syntax.closer:
            self._end_call()
        else:
            self._state = _State.JUNK
        return False

    def _end_call(self) -> None:
        self._state = _State.SECTION if self._syntax.is_section else _State.OVER

    def _section_words(self) -> Words:
        """What may come behind a call: the word before the next one, or the end of all."""
        between = read_words(self._syntax.between)
        return (
            *(between or read_words(self._syntax.before_name)[:1]),
            *read_words(self._syntax.section_close),
        )

    def _take_section(self, text: str, start: int) -> int:
        start = _skip_space(text, start)
        words = [word for word in self._section_words() if word not in self._token_tags]
        for word in words:
            if text.startswith(word, start):
                self._enter_from_section(word)
                return start + len(word)
        begins_word = any(word.startswith(text[start:]) for word in words)
        self.is_waiting = start == len(text) or begins_word
        if not self.is_waiting:
            self._leave_section()
        return start

    def _enter_from_section(self, word: str) -> None:
        before_name = read_words(self._syntax.before_name)
        if word in self._syntax.section_close:
            self._state = _State.OVER
        elif word in self._syntax.between:
            self._begin_head(before_name, word)
        else:
            self._begin_head(before_name[1:], word)

    def _leave_section(self) -> None:
        """Neither a call nor the end of all: text, or the rest of a bad block."""
        self._state = _State.JUNK if self._syntax.section_close else _State.OVER

    def _junk_tags(self) -> Words:
        return tuple(tag for tag in (self._syntax.closer, self._syntax.opener) if tag is not None)

    def _take_junk(self, text: str, start: int) -> int:
        tags = [tag for tag in self._junk_tags() if tag not in self._token_tags]
        found = find_tag(text, tags, start)
        self.is_waiting = found is None
        if found is None:
            return len(text) - num_held_back(text, start, tags)
        index, tag = found
        self._enter_from_junk(tag)
        return index + len(tag)

    def _enter_from_junk(self, tag: str) -> None:
        if tag == self._syntax.closer:
            self._end_call()
        elif tag == self._syntax.opener:
            words = (*self._syntax.section_open, *self._syntax.before_name)
            self._begin_head(words[1:], tag)


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start] in WHITE_SPACE:
        start += 1
    return start
