"""ChatTemplate: the model's own Jinja template, rendered by transformers.

What it can do is found by rendering probes, not by guessing from names.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

import jinja2
import jinja2.meta

from server.chat.abilities import find_abilities
from server.errors import RequestError
from server.request_errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from transformers import PreTrainedTokenizerFast

    from server.chat.history import TemplateMessage

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

    Attributes:
        source: the template's text.
        abilities: what it does with tools, calls and system messages.

    Raises:
        ValueError: the tokenizer has no chat template, a malformed one, or one for answers that we
            cannot read.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        if not tokenizer.chat_template:
            raise ValueError("the tokenizer has no chat template; use an instruction-tuned model")
        self._tokenizer = tokenizer
        self.source = tokenizer.get_chat_template(tools=[_ANY_TOOL])
        if not isinstance(self.source, str):
            raise ValueError("its chat template is no text")  # noqa: TRY004
        if all(mark in self.source for mark in _HARMONY_MARKS):
            raise ValueError(
                "its chat template asks for answers in harmony channels (gpt-oss), which this "
                "server does not read; use another model"
            )
        self._variables = _free_variables(self.source)
        self.abilities = find_abilities(lambda messages, tools: self.render(messages, tools, {}))

    def reads(self, variable: str) -> bool:
        """Whether the template looks at this variable at all."""
        return variable in self._variables

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
            ValueError: it is malformed; every call raises that, also the first.
        """
        try:
            rendered = self._tokenizer.apply_chat_template(
                list(messages),  # type: ignore[arg-type]  # it declares contents of text alone
                tools=list(tools) or None,
                tokenize=False,
                add_generation_prompt=ending is PromptEnding.NEW_MESSAGE,
                continue_final_message=ending is PromptEnding.CONTINUED_MESSAGE,
                **variables,  # type: ignore[arg-type]  # names come from an allow-list
            )
        except jinja2.TemplateSyntaxError as error:
            raise ValueError(f"its chat template is malformed: {error}") from error
        except jinja2.TemplateError as error:
            reason = f"the chat template refused the messages: {error}"
            raise InvalidValueError("messages", reason) from error
        except _TEMPLATE_FAULTS as error:
            raise RequestError(
                "messages: the chat template of this model cannot handle this form of messages",
                param="messages",
            ) from error
        assert isinstance(rendered, str), "tokenize=False gives text"
        return rendered


def _free_variables(source: str) -> frozenset[str]:
    environment = jinja2.Environment(  # noqa: S701  # only parsed, never rendered
        extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"]
    )
    try:
        return frozenset(jinja2.meta.find_undeclared_variables(environment.parse(source)))
    except jinja2.TemplateSyntaxError:  # transformers' own tags, as {% generation %}
        return frozenset()
