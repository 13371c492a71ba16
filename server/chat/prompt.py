"""PromptBuilder: a chat request to prompt token ids and what the prompt says of thinking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from server.calls.tool import ToolKind
from server.chat.history import check_history, protected_messages, template_messages
from server.chat.legacy import modern_messages
from server.chat.prompt_tokenizer import PromptTokenizer
from server.chat.reply_format import ReplyFormat
from server.chat.shield import Shield, texts_in
from server.chat.template import PromptEnding
from server.chat.template_variables import template_variables
from server.chat.thinking import THINK, THOUGHT_TAGS, Thinking, thinking_of
from server.chat.tool_showing import ToolShowing
from server.request_errors import ContextLengthError, InvalidValueError
from server.tool_schema import declared_tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.calls.tool import CallableTool
    from server.chat.template import ChatTemplate
    from server.config import ToolFormatName
    from server.wire.chat_request import ChatCompletionRequest
    from server.wire.messages import Message

_PROMPT_TAGS: Final = ("<tool_response>", "</tool_response>", "<tools>", "</tools>")
"""Tags of prompts that only a template may write, also where they are no control tokens."""
_CUSTOM_NOTE: Final = "Its argument is free text."


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is given.

    Args:
        token_ids: the whole prompt.
        thinking: where the answer stands to a block of thoughts.
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
        tool_format: how the model writes calls; auto: as its template shows.

    Attributes:
        reply_format: how the model writes its answers.
        may_think: whether it opens blocks of thoughts by itself.
        template_source: its chat template.
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
        self.template_source = template.source
        self._showing = ToolShowing.choose(template.abilities, tool_format)
        thoughts = next((tags for tags in THOUGHT_TAGS if tags.open in template.source), THINK)
        self.reply_format = ReplyFormat(self._showing.syntax, thoughts)
        tags = (*_PROMPT_TAGS, *self.reply_format.tags)
        self._tokenizer = PromptTokenizer(tokenizer_json, tags=tags)
        self._max_model_len = max_model_len
        # Models that think by themselves have a token for it, and a template that speaks of it.
        is_spoken_of = thoughts.open in template.source
        self.may_think = is_spoken_of and self._tokenizer.has_control(thoughts.open)

    def build(self, request: ChatCompletionRequest) -> Prompt:
        """The prompt of a request; slow for long ones, so not for the event loop.

        Raises:
            InvalidValueError: the history is not in order, or a template variable is not allowed.
            RequestError: the template refuses the messages.
            ContextLengthError: no room is left for one token of an answer.
        """
        history = modern_messages(request.messages)
        check_history(history)
        ending = _ending(request, history)
        variables = template_variables(request, self._template.reads)
        messages, tools = template_messages(history), _template_tools(request)
        shield = Shield(self._tokenizer.marks, texts_in([*messages, *tools]))
        protected = [tool for tool in map(shield.protect_json, tools) if isinstance(tool, dict)]
        messages, shown = self._showing.show(protected_messages(messages, shield), protected)
        rendered = self._template.render(messages, shown, variables.values, ending)
        self._check_chars(rendered)
        token_ids = self._tokenizer.encode(rendered, shield)
        if not token_ids:
            raise InvalidValueError(
                "messages", "the chat template makes an empty prompt of them; add a user message"
            )
        self._check_length(token_ids)
        return Prompt(tuple(token_ids), self._thinking(rendered, ending), variables.ignored)

    def build_text(self, given: str | Sequence[int], *, add_special_tokens: bool) -> Prompt:
        """The prompt of a text that is gone on with as it stands; slow for long ones.

        It is written in the template's place, so it may spell control tokens.

        Args:
            given: the text, or its token ids.
            add_special_tokens: of a text: with what the tokenizer puts around every text.

        Raises:
            InvalidValueError: it is empty.
            ContextLengthError: no room is left for one token of an answer.
        """
        if isinstance(given, str):
            self._check_chars(given)
            token_ids = self.encode_text(given, add_special_tokens=add_special_tokens)
        else:
            token_ids = list(given)
        if not token_ids:
            raise InvalidValueError("messages", "the prompt is empty; give it some text")
        self._check_length(token_ids)
        return Prompt(tuple(token_ids), Thinking.NONE, ())

    def encode_text(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """The token ids of a text of any length; see `build_text`."""
        return self._tokenizer.encode_text(text, add_special_tokens=add_special_tokens)

    def _check_chars(self, text: str) -> None:
        least = self._tokenizer.min_num_tokens(text)
        if least >= self._max_model_len:
            raise ContextLengthError(least, self._max_model_len, is_exact=False)

    def _check_length(self, token_ids: Sequence[int]) -> None:
        if len(token_ids) >= self._max_model_len:
            raise ContextLengthError(len(token_ids), self._max_model_len)

    def _thinking(self, rendered: str, ending: PromptEnding) -> Thinking:
        """A message that is continued has begun its text: no thoughts come any more."""
        may_think = self.may_think and ending is not PromptEnding.CONTINUED_MESSAGE
        return thinking_of(rendered, self.reply_format.thoughts, may_think=may_think)


def _ending(request: ChatCompletionRequest, history: Sequence[Message]) -> PromptEnding:
    if not request.continue_final_message:
        adds_head = request.add_generation_prompt is not False
        return PromptEnding.NEW_MESSAGE if adds_head else PromptEnding.LAST_MESSAGE
    if request.add_generation_prompt:
        raise InvalidValueError(
            "continue_final_message", "cannot be combined with add_generation_prompt: true"
        )
    if history[-1].role != "assistant" or not history[-1].content:
        raise InvalidValueError(
            "continue_final_message", "the last message must be the assistant's, with content"
        )
    return PromptEnding.CONTINUED_MESSAGE


def _template_tools(request: ChatCompletionRequest) -> list[dict[str, object]]:
    """The tools as templates print them; none where none may be called."""
    if "none" in (request.tool_choice, request.function_call):
        return []
    return [_template_tool(tool) for tool in declared_tools(request)]


def _template_tool(tool: CallableTool) -> dict[str, object]:
    function: dict[str, object] = {"name": tool.name}
    description = tool.description
    if tool.kind is ToolKind.CUSTOM:
        description = f"{description} {_CUSTOM_NOTE}" if description else _CUSTOM_NOTE
    if description is not None:
        function["description"] = description
    function["parameters"] = tool.schema
    return {"type": "function", "function": function}
