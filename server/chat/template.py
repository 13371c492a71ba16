"""ChatTemplate: the model's own Jinja template, rendered as transformers does, within limits.

What it can do is found by rendering probes, not by guessing from names.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

import jinja2

from server.chat.abilities import find_abilities
from server.chat.metered.budget import RenderLimitError
from server.chat.metered.environment import MeteredTemplate
from server.errors import RequestError
from server.request_errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from transformers import PreTrainedTokenizerFast

    from server.chat.history import TemplateMessage
    from server.chat.metered.budget import RenderLimits

_TEMPLATE_FAULTS: Final = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,  # also of a range that the sandbox refuses
    RecursionError,
    MemoryError,
)
"""What expressions of a template may raise."""
_END_OF_CONTENT: Final = "\U0010fffd"
"""Stands behind a message that is continued, to be found again; a noncharacter's neighbour."""
_HARMONY_MARKS: Final = ("<|channel|>", "<|message|>")
_ANY_TOOL: Final[dict[str, object]] = {
    "type": "function",
    "function": {"name": "any", "description": "", "parameters": {"type": "object"}},
}


class PromptEnding(Enum):
    """What a prompt ends with."""

    NEW_MESSAGE = "new message"  # the head of a message of the assistant
    LAST_MESSAGE = "last message"  # the end of the last message
    CONTINUED_MESSAGE = "continued message"  # the last message, still open


class ChatTemplate:
    """Renders protected messages to prompt text.

    Args:
        tokenizer: a transformers tokenizer with a chat template.
        limits: of each rendering.

    Attributes:
        source: the template's text.
        abilities: what it does with tools, calls and system messages.

    Raises:
        ValueError: the tokenizer has no chat template, a malformed or endless one, or one for
            answers that we cannot read.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, limits: RenderLimits) -> None:
        if not tokenizer.chat_template:
            raise ValueError("the tokenizer has no chat template; use an instruction-tuned model")
        self.source = tokenizer.get_chat_template(tools=[_ANY_TOOL])
        if not isinstance(self.source, str):
            raise ValueError("its chat template is no text")  # noqa: TRY004
        if all(mark in self.source for mark in _HARMONY_MARKS):
            raise ValueError(
                "its chat template asks for answers in harmony channels (gpt-oss), which this "
                "server does not read; use another model"
            )
        self._special_tokens = dict(tokenizer.special_tokens_map)
        self._template = MeteredTemplate(self.source, limits)
        try:
            self.abilities = find_abilities(lambda chat, tools: self.render(chat, tools, {}))
        except RenderLimitError as error:
            raise ValueError(f"its chat template does not end: {error}") from error

    def reads(self, variable: str) -> bool:
        """Whether the template looks at this variable at all."""
        return variable in self._template.variables

    def render(
        self,
        messages: Sequence[TemplateMessage],
        tools: Sequence[dict[str, object]],
        variables: Mapping[str, object],
        ending: PromptEnding = PromptEnding.NEW_MESSAGE,
    ) -> str:
        """The prompt text, ready for the model to answer.

        Args:
            messages: as `server.chat.history` makes them.
            tools: OpenAI's tool objects; only if the template renders them.
            variables: extra template variables, from an allow-list.
            ending: what stands at its end.

        Raises:
            RequestError: the template refuses these messages, or cannot handle them.
            RenderLimitError: it takes more than it may to render them.
        """
        is_continued = ending is PromptEnding.CONTINUED_MESSAGE
        messages = [_with_thinking(message) for message in messages]
        try:
            rendered = self._template.render(
                {
                    **self._special_tokens,
                    **variables,
                    "messages": _with_marked_end(messages) if is_continued else messages,
                    "tools": list(tools) or None,
                    "documents": None,
                    "add_generation_prompt": ending is PromptEnding.NEW_MESSAGE,
                }
            )
        except jinja2.TemplateError as error:
            reason = f"the chat template refused the messages: {error}"
            raise InvalidValueError("messages", reason) from error
        except _TEMPLATE_FAULTS as error:
            raise _cannot_handle() from error
        return _until_marked_end(rendered) if is_continued else rendered


def _with_thinking(message: TemplateMessage) -> TemplateMessage:
    """Thoughts also under the name that some templates read."""
    if "reasoning_content" not in message:
        return message
    return {"thinking": message["reasoning_content"], **message}


def _with_marked_end(messages: Sequence[TemplateMessage]) -> list[TemplateMessage]:
    """A space stands behind the mark, so that a template that trims contents gives itself away."""
    last = messages[-1]
    return [*messages[:-1], last | {"content": f"{last['content']}{_END_OF_CONTENT} "}]


def _until_marked_end(rendered: str) -> str:
    end = rendered.rfind(_END_OF_CONTENT)
    if end < 0:
        raise _cannot_handle()
    is_trimmed = rendered[end + 1 : end + 2] != " "
    return rendered[:end].rstrip() if is_trimmed else rendered[:end]


def _cannot_handle() -> RequestError:
    return RequestError(
        "messages: the chat template of this model cannot handle this form of messages",
        param="messages",
    )
