"""The table of call formats, and which of them a rendered prompt shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from server.calls.syntax import ArgumentForm, CallSyntax, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_JSON_NAME: Final[Words] = ("{", '"name"', ":", " ", '"')
_JSON_ARGUMENTS: Final[Words] = ('"', ",", " ", '"arguments"', ":", " ")


def _mark(words: str) -> str:
    """A control token of DeepSeek's models, which are spelled with fullwidth bars."""
    return f"<\uff5c{words.replace(' ', chr(0x2581))}\uff5c>"


HERMES: Final = CallSyntax(
    "hermes",
    before_name=("<tool_call>", "\n", *_JSON_NAME),
    before_arguments=_JSON_ARGUMENTS,
    after_arguments=("}", "\n", "</tool_call>"),
    between=("\n",),
)
"""Hermes 2 Pro, Qwen 2.5, Qwen 3; also the form of our own prompt for models without any."""

QWEN3_CODER: Final = CallSyntax(
    "qwen3_coder",
    before_name=("<tool_call>", "\n", "<function="),
    before_arguments=(">", "\n"),
    after_arguments=("</function>", "\n", "</tool_call>"),
    between=("\n",),
    arguments=ArgumentForm.PARAMETERS,
)
"""Qwen3-Coder, Qwen 3.5 and later, Nemotron 3."""

MISTRAL: Final = CallSyntax(
    "mistral",
    section_open=("[TOOL_CALLS]", " ", "["),
    before_name=_JSON_NAME,
    before_arguments=_JSON_ARGUMENTS,
    after_arguments=("}",),
    between=(",", " "),
    section_close=("]",),
)
"""Mistral's tokenizers v3 to v7."""

MISTRAL_ARGS: Final = CallSyntax(
    "mistral_args",
    before_name=("[TOOL_CALLS]",),
    before_arguments=("[ARGS]",),
    after_arguments=(),
)
"""Mistral's tokenizers v11 and v13."""

DEEPSEEK_V3: Final = CallSyntax(
    "deepseek_v3",
    section_open=(_mark("tool calls begin"),),
    before_name=(_mark("tool call begin"), "function", _mark("tool sep")),
    before_arguments=("\n", "```json", "\n"),
    after_arguments=("\n", "```", _mark("tool call end")),
    between=("\n",),
    section_close=(_mark("tool calls end"),),
)
"""DeepSeek V3 and R1."""

DEEPSEEK_V31: Final = CallSyntax(
    "deepseek_v31",
    section_open=(_mark("tool calls begin"),),
    before_name=(_mark("tool call begin"),),
    before_arguments=(_mark("tool sep"),),
    after_arguments=(_mark("tool call end"),),
    section_close=(_mark("tool calls end"),),
)
"""DeepSeek V3.1."""

LLAMA3_JSON: Final = CallSyntax(
    "llama3_json",
    before_name=_JSON_NAME,
    before_arguments=('"', ",", " ", '"parameters"', ":", " "),
    after_arguments=("}",),
    between=(";", " "),
)
"""Llama 3.1 to 3.3."""

JSON: Final = CallSyntax(
    "json",
    before_name=_JSON_NAME,
    before_arguments=_JSON_ARGUMENTS,
    after_arguments=("}",),
    between=("\n",),
)
"""Bare JSON objects, one a line; for models that know no form of their own."""

JSON_BLOCK: Final = CallSyntax(
    "json_block",
    before_name=("```json", "\n", "{", "\n  ", '"name"', ":", " ", '"'),
    before_arguments=('"', ",", "\n  ", '"arguments"', ":", " "),
    after_arguments=("\n", "}", "\n", "```"),
    between=("\n",),
)
"""What Qwen2.5-Coder writes, though its template shows the form of Hermes; asked for by name."""

FORMATS: Final[Mapping[str, CallSyntax]] = {
    syntax.name: syntax
    for syntax in (
        HERMES,
        QWEN3_CODER,
        MISTRAL,
        MISTRAL_ARGS,
        DEEPSEEK_V3,
        DEEPSEEK_V31,
        LLAMA3_JSON,
        JSON_BLOCK,
        JSON,
    )
}
"""By name. Of two whose calls look alike, the one with more words around them comes first."""


def call_text(syntax: CallSyntax, name: str, arguments: object) -> str:
    """One call as a model of this format writes it.

    Args:
        syntax: of the format.
        name: of the function.
        arguments: a JSON object; text that is none, of a broken call, is shown as a JSON string.
    """
    before = "".join(syntax.before_name) + name + "".join(syntax.before_arguments)
    return before + _arguments_text(syntax, arguments) + "".join(syntax.after_arguments)


def calls_text(syntax: CallSyntax, calls: Iterable[tuple[str, object]]) -> str:
    """Several calls (name, arguments) as a model of this format writes them."""
    texts = [call_text(syntax, name, arguments) for name, arguments in calls]
    return (
        "".join(syntax.section_open)
        + "".join(syntax.between).join(texts)
        + "".join(syntax.section_close)
    )


def shown_format(rendered: str, name: str, arguments: Mapping[str, object]) -> CallSyntax | None:
    """The format in which a rendered prompt shows this call, white space aside; None: in none.

    Bare JSON is never recognised: many forms that we do not know have it inside.
    """
    rendered = _without_space(rendered)
    for syntax in FORMATS.values():
        if syntax is JSON:
            continue
        head = "".join((*syntax.section_open, *syntax.before_name, name, *syntax.before_arguments))
        if _without_space(head + _arguments_text(syntax, arguments)) in rendered:
            return syntax
    return None


def _arguments_text(syntax: CallSyntax, arguments: object) -> str:
    if syntax.arguments is ArgumentForm.JSON:
        return _json(arguments)
    if not isinstance(arguments, dict):
        arguments = {"arguments": arguments}
    return "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else _json(value)}\n</parameter>\n"
        for key, value in arguments.items()
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _without_space(text: str) -> str:
    return "".join(text.split())
