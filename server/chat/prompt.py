"""PromptBuilder: a chat request to prompt token ids and what the prompt says of thinking."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from server.chat.history import check_history, template_messages
from server.chat.prompt_tokenizer import PromptTokenizer
from server.chat.shield import Shield, texts_in
from server.chat.template_variables import template_variables
from server.chat.thinking import THINK_CLOSE, THINK_OPEN, Thinking, thinking_of
from server.chat.tool_prompt import with_tools_in_text
from server.errors import ContextLengthError
from server.tool_schema import argument_schema

if TYPE_CHECKING:
    from server.chat.template import ChatTemplate
    from server.config import ToolFormatName
    from server.wire.chat_request import ChatCompletionRequest
    from server.wire.tools import Tool

TAGS = (
    THINK_OPEN,
    THINK_CLOSE,
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<tools>",
    "</tools>",
)
"""Tags that only a template may write, also where they are no control tokens of the model."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is given.

    Args:
        token_ids: the whole prompt.
        thinking: where the answer stands to a reasoning block.
        ignored: request fields that the template does not look at.
    """

    token_ids: tuple[int, ...]
    thinking: Thinking
    ignored: tuple[str, ...]


class PromptBuilder:
    """Renders and tokenises chats of one model.

    Args:
        template: the model's chat template.
        tokenizer_json: the text of its tokenizer.json.
        max_model_len: tokens of prompt and answer together.
        tool_format: auto: the template's own way of showing tools is used if it is that of Hermes
            models, else ours; hermes: the template's own way is used wherever it has one.
    """

    def __init__(
        self,
        template: ChatTemplate,
        tokenizer_json: str,
        *,
        max_model_len: int,
        tool_format: ToolFormatName = "auto",
    ) -> None:
        self._template = template
        self._tokenizer = PromptTokenizer(tokenizer_json, tags=TAGS)
        self._max_model_len = max_model_len
        self._uses_template_tools = template.writes_hermes_calls or (
            tool_format == "hermes" and template.renders_tools
        )
        # Models that think by themselves have a token for it, and a template that speaks of it.
        self._may_think = THINK_OPEN in template.source and self._tokenizer.has_control(THINK_OPEN)

    def build(self, request: ChatCompletionRequest) -> Prompt:
        """The prompt of a request; slow for long ones, so not for the event loop.

        Raises:
            InvalidValueError: the history is not in order, or a template variable is not allowed.
            RequestError: the template refuses the messages.
            ContextLengthError: no room is left for one token of an answer.
        """
        check_history(request.messages)
        variables = template_variables(request, self._template.reads)
        tools = _template_tools(request)
        shield = Shield(self._tokenizer.marks, chain(_caller_texts(request), texts_in(tools)))
        messages = template_messages(request.messages, shield)
        protected = [tool for tool in map(shield.protect_json, tools) if isinstance(tool, dict)]
        if not self._uses_template_tools:
            messages = with_tools_in_text(messages, protected)
            protected = []
        rendered = self._template.render(messages, protected, variables.values)
        if self._tokenizer.min_num_tokens(rendered) >= self._max_model_len:
            raise ContextLengthError(
                self._tokenizer.min_num_tokens(rendered), self._max_model_len, is_exact=False
            )
        token_ids = self._tokenizer.encode(rendered, shield)
        if len(token_ids) >= self._max_model_len:
            raise ContextLengthError(len(token_ids), self._max_model_len)
        thinking = thinking_of(rendered, may_think=self._may_think)
        return Prompt(tuple(token_ids), thinking, variables.ignored)


def _template_tools(request: ChatCompletionRequest) -> list[object]:
    """The tools as templates print them; none where none may be called."""
    if request.tool_choice == "none":
        return []
    return [_template_tool(tool, index) for index, tool in enumerate(request.tools or [])]


def _template_tool(tool: Tool, index: int) -> dict[str, object]:
    function: dict[str, object] = {"name": tool.function.name}
    if tool.function.description is not None:
        function["description"] = tool.function.description
    function["parameters"] = argument_schema(tool.function, index)
    return {"type": "function", "function": function}


def _caller_texts(request: ChatCompletionRequest) -> list[str]:
    return [
        text for message in request.messages for text in texts_in(message.model_dump(mode="python"))
    ]
