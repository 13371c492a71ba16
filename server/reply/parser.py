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
* Arguments are forwarded as they come, verbatim. Nothing that was sent is ever taken back.
* What does not begin as a call of a known function is text; a call that a limit cuts before its
  arguments is dropped.
* White space beside blocks belongs to them and is dropped.
* Once the arguments are closed the call stands; the rest of a bad block is dropped.
* Every way of cutting the text folds to the same message, in linear time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.calls.syntax import read_words
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import Thinking
from server.reply.call_reader import CallReader
from server.reply.events import ReasoningEvent, ReplyEvent, TextEvent, merge_events
from server.reply.tags import find_tag, num_held_back
from server.reply.words import WHITE_SPACE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from server.calls.tool import CallableTool

_DEFAULT_FORMAT = ReplyFormat()


class ReplyParser:
    """Parses one answer: at each moment it is in text, in thoughts, or in calls.

    Args:
        tools: what may be called; none: calls are not looked for.
        thinking: what the prompt says of a block of thoughts.
        reply_format: the format of the model.
        calls_anywhere: calls may stand behind text too; else the answer is calls, or a text in
            which what looks like a call is data.
        is_all_calls: the answer can be nothing else than calls, so none of it is ever text.
        token_tags: tags that are control tokens of the model. These come through `feed_tag` only;
            text that spells them is text.

    Attributes:
        is_reasoning: whether the text is inside a block of thoughts.
    """

    def __init__(
        self,
        *,
        tools: Iterable[CallableTool] = (),
        thinking: Thinking = Thinking.NONE,
        reply_format: ReplyFormat = _DEFAULT_FORMAT,
        calls_anywhere: bool = True,
        is_all_calls: bool = False,
        token_tags: Collection[str] = (),
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._syntax = reply_format.calls
        self._thoughts = reply_format.thoughts
        self._calls_anywhere = calls_anywhere
        self._is_all_calls = is_all_calls
        self._token_tags = token_tags
        self.is_reasoning = thinking is Thinking.OPEN
        self._calls: CallReader | None = None  # while the text is in calls
        self._may_think = thinking is Thinking.OPTIONAL
        self._has_text = False
        self._has_calls = False
        self._drops_space = thinking is Thinking.OPEN  # white space that comes next
        self._space: list[str] = []  # white space that a block may follow, and then drop
        self._held = ""  # the beginning of a tag, perhaps
        self._events: list[ReplyEvent] = []

    def feed(self, text: str) -> list[ReplyEvent]:
        """The events that more text brings."""
        text = self._held + text
        self._held = ""
        position = 0
        while position < len(text):
            position = self._take(text, position)
            if self._calls is not None and self._calls.is_waiting:
                self._held = text[position:]
                break
        return self._take_events()

    def feed_tag(self, tag: str) -> list[ReplyEvent]:
        """The events that a control token of `token_tags` brings; a stray one is text."""
        self._release_held()
        is_taken = self._calls is not None and self._calls.take_tag(tag)
        self._leave_calls_if_over()
        if not is_taken:
            self._take_tag(tag)
        return self._take_events()

    def finish(self, *, is_cut: bool = False) -> list[ReplyEvent]:
        """The events that the end of the answer brings: all that was held back.

        Args:
            is_cut: a limit ended the answer, not the model: what began with a call's tag would have
                become one, so it is dropped instead of sent as text; so is the beginning of a tag
                where nothing but a call can follow.
        """
        if is_cut and self._only_calls_follow:
            self._held = ""
        self._release_held()
        if self._calls is not None:
            self._calls.finish(is_cut=is_cut)
            if not self._calls.refused:
                self._space = []
            self._leave_calls_if_over()
        self._emit_text("".join(self._space))
        self._space = []
        return self._take_events()

    @property
    def _only_calls_follow(self) -> bool:
        is_bound = self._is_all_calls or (self._has_calls and not self._calls_anywhere)
        return is_bound and not self.is_reasoning

    def _take(self, text: str, start: int) -> int:
        """Take some of the text from `start` on; return the index of what is left."""
        if self._calls is not None:
            position = self._calls.take(text, start)
            self._leave_calls_if_over()
            return position
        if self._may_begin_bare:
            return self._take_beginning(text, start)
        return self._take_until_tag(text, start)

    @property
    def _may_begin_bare(self) -> bool:
        """Whether calls without a tag may begin: in front of everything else, or nowhere."""
        is_first = not (self._has_text or self._has_calls or self.is_reasoning)
        return is_first and self._syntax.opener is None and bool(self._tools)

    def _take_beginning(self, text: str, start: int) -> int:
        first = start + len(text[start:]) - len(text[start:].lstrip(WHITE_SPACE))
        self._take_text(text[start:first])
        if first == len(text):
            return first
        if text[first] == read_words(self._syntax.before_name)[0][0]:
            self._begin_calls("")
            return first
        return self._take_until_tag(text, first)

    def _take_until_tag(self, text: str, start: int) -> int:
        tags = [tag for tag in self._active_tags() if tag not in self._token_tags]
        found = find_tag(text, tags, start)
        if found is None:
            end = len(text) - num_held_back(text, start, tags)
            self._take_text(text[start:end])
            self._held = text[end:]
            return len(text)
        index, tag = found
        self._take_text(text[start:index])
        self._take_tag(tag)
        return index + len(tag)

    def _active_tags(self) -> tuple[str, ...]:
        if self.is_reasoning:
            return (self._thoughts.close,)
        may_call = self._tools and (self._calls_anywhere or not self._has_text)
        opener = (self._syntax.opener,) if may_call and self._syntax.opener else ()
        return (self._thoughts.open, *opener) if self._may_think else opener

    def _take_tag(self, tag: str) -> None:
        """Enter what an active tag begins, or leave what it ends; another tag is text."""
        if tag not in self._active_tags():
            self._take_text(tag)
        elif tag == self._syntax.opener:
            self._begin_calls(tag)
        else:
            self._space = []
            self.is_reasoning = tag == self._thoughts.open
            self._may_think = False
            self._drops_space = True

    def _begin_calls(self, opener: str) -> None:
        self._calls = CallReader(self._syntax, self._tools, self._token_tags, opener)

    def _leave_calls_if_over(self) -> None:
        """Go on with the events of calls; behind them, with text again."""
        if self._calls is None:
            return
        self._events += self._calls.take_events()
        if self._calls.has_calls:
            self._space, self._drops_space = [], True
            self._may_think, self._has_calls = False, True
        if self._calls.is_over:
            refused = self._calls.refused
            self._calls = None
            self._take_text(refused)

    def _take_text(self, text: str) -> None:
        """Tell text or thoughts, but hold back white space at the end: a block may follow."""
        if self._drops_space:
            text = text.lstrip(WHITE_SPACE)
            self._drops_space = not text
        bare = text.rstrip(WHITE_SPACE)
        if bare and not self.is_reasoning:
            self._may_think = False
            self._has_text = True
        holds = self.is_reasoning or bool(self._tools) or self._may_think
        end = len(bare) if holds else len(text)
        if end:
            self._emit_text("".join(self._space) + text[:end])
            self._space = []
        self._space.append(text[end:])

    def _emit_text(self, text: str) -> None:
        if text:
            self._events.append(ReasoningEvent(text) if self.is_reasoning else TextEvent(text))

    def _release_held(self) -> None:
        """What was held back is no tag; inside calls it is dropped."""
        held, self._held = self._held, ""
        if self._calls is None:
            self._take_text(held)

    def _take_events(self) -> list[ReplyEvent]:
        events, self._events = self._events, []
        return merge_events(events)
