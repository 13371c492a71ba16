"""ChatTemplate: the model's own Jinja template, rendered by transformers; what it can do is found by
rendering, not by guessing from names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import jinja2
import jinja2.meta

from server.errors import InvalidValueError, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.chat.history import TemplateMessage

_PROBE_TOOL: dict[str, object] = {
    "type": "function",
    "function": {
        "name": "probe_of_tool_support",
        "description": "A probe.",
        "parameters": {"type": "object", "properties": {}},
    },
}
_PROBE_MESSAGES: list[TemplateMessage] = [{"role": "user", "content": "hi"}]


class TemplateTokenizer(Protocol):
    """The part of a transformers tokenizer that renders chats."""

    chat_template: str | dict[str, str] | None

    def get_chat_template(
        self, chat_template: str | None = None, tools: list[dict[str, object]] | None = None
    ) -> str: ...

    def apply_chat_template(self, conversation: list[TemplateMessage], **options: object) -> str: ...


class ChatTemplate:
    """Renders protected messages to prompt text.

    Args:
        tokenizer: a transformers tokenizer with a chat template.

    Attributes:
        source: the template's text.
        renders_tools: whether tools that are passed to it show up in the prompt.

    Raises:
        ValueError: the tokenizer has no chat template.
    """

    def __init__(self, tokenizer: TemplateTokenizer) -> None:
        if not tokenizer.chat_template:
            raise ValueError("the tokenizer has no chat template; use an instruction-tuned model")
        self._tokenizer = tokenizer
        self.source = tokenizer.get_chat_template(tools=[_PROBE_TOOL])
        self._variables = _free_variables(self.source)
        self.renders_tools = self._probe_tools()

    def reads(self, variable: str) -> bool:
        """Whether the template looks at this variable at all."""
        return variable in self._variables

    def render(
        self,
        messages: Sequence[TemplateMessage],
        tools: Sequence[dict[str, object]],
        variables: Mapping[str, object],
    ) -> str:
        """The prompt text, ready for the model to answer.

        Args:
            messages: as `server.chat.history` makes them.
            tools: OpenAI's tool objects; only if `renders_tools`.
            variables: extra template variables, from an allow-list.

        Raises:
            RequestError: the template refuses these messages, or cannot handle them.
        """
        try:
            return self._tokenizer.apply_chat_template(
                list(messages),
                tools=list(tools) or None,
                tokenize=False,
                add_generation_prompt=True,
                **variables,
            )
        except jinja2.TemplateError as error:
            reason = f"the chat template refused the messages: {error}"
            raise InvalidValueError("messages", reason) from error
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            raise RequestError(
                "messages: the chat template of this model cannot handle this form of messages",
                param="messages",
            ) from error

    def _probe_tools(self) -> bool:
        name = "probe_of_tool_support"
        try:
            return name in self.render(_PROBE_MESSAGES, [_PROBE_TOOL], {})
        except RequestError:
            return False


def _free_variables(source: str) -> frozenset[str]:
    environment = jinja2.Environment(  # noqa: S701  # only parsed, never rendered
        extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"]
    )
    try:
        return frozenset(jinja2.meta.find_undeclared_variables(environment.parse(source)))
    except jinja2.TemplateSyntaxError:  # transformers' own tags, as {% generation %}
        return frozenset()
