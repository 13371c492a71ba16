"""ChatTemplate: the model's own Jinja template, rendered by transformers.

What it can do is found by rendering probes, not by guessing from names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jinja2
import jinja2.meta

from server.errors import InvalidValueError, RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from transformers import PreTrainedTokenizerFast

    from server.chat.history import TemplateMessage

_PROBE_NAME = "probe_of_tool_support"
_PROBE_TOOL: dict[str, object] = {
    "type": "function",
    "function": {
        "name": _PROBE_NAME,
        "description": "A probe.",
        "parameters": {"type": "object", "properties": {}},
    },
}
_PROBE_CALL: dict[str, object] = {
    "id": "probe",
    "type": "function",
    "function": {"name": _PROBE_NAME, "arguments": {}},
}
_QUESTION: TemplateMessage = {"role": "user", "content": "hi"}
_PROBE_HISTORY: list[TemplateMessage] = [
    _QUESTION,
    {"role": "assistant", "content": "", "tool_calls": [_PROBE_CALL]},
    {"role": "tool", "content": "ok", "tool_call_id": "probe", "name": _PROBE_NAME},
]
_HERMES_CALL = re.compile(rf'<tool_call>\s*\{{"name": "{_PROBE_NAME}", "arguments": \{{\}}\}}')


class ChatTemplate:
    """Renders protected messages to prompt text.

    Args:
        tokenizer: a transformers tokenizer with a chat template.

    Attributes:
        source: the template's text.
        renders_tools: whether tools that are passed to it show up in the prompt.
        writes_hermes_calls: whether it also writes earlier calls in the form of Hermes models.

    Raises:
        ValueError: the tokenizer has no chat template.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        if not tokenizer.chat_template:
            raise ValueError("the tokenizer has no chat template; use an instruction-tuned model")
        self._tokenizer = tokenizer
        self.source = tokenizer.get_chat_template(tools=[_PROBE_TOOL])
        self._variables = _free_variables(self.source)
        self.renders_tools = _PROBE_NAME in self._probe([_QUESTION])
        self.writes_hermes_calls = self.renders_tools and bool(
            _HERMES_CALL.search(self._probe(_PROBE_HISTORY))
        )

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
            rendered = self._tokenizer.apply_chat_template(
                list(messages),  # type: ignore[arg-type]  # it declares contents of text alone
                tools=list(tools) or None,
                tokenize=False,
                add_generation_prompt=True,
                **variables,  # type: ignore[arg-type]  # names come from an allow-list
            )
        except jinja2.TemplateError as error:
            reason = f"the chat template refused the messages: {error}"
            raise InvalidValueError("messages", reason) from error
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            raise RequestError(
                "messages: the chat template of this model cannot handle this form of messages",
                param="messages",
            ) from error
        assert isinstance(rendered, str), "tokenize=False gives text"
        return rendered

    def _probe(self, messages: list[TemplateMessage]) -> str:
        """The prompt of these messages and a tool; "" where the template refuses them."""
        try:
            return self.render(messages, [_PROBE_TOOL], {})
        except RequestError:
            return ""


def _free_variables(source: str) -> frozenset[str]:
    environment = jinja2.Environment(  # noqa: S701  # only parsed, never rendered
        extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"]
    )
    try:
        return frozenset(jinja2.meta.find_undeclared_variables(environment.parse(source)))
    except jinja2.TemplateSyntaxError:  # transformers' own tags, as {% generation %}
        return frozenset()
