"""Grammars of tool calls in any format: exactly the calls that the tools allow."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from grammars.spec import (
    Either,
    Embed,
    FreeText,
    JsonSchema,
    Literal,
    Part,
    Regex,
    Repeat,
    Sequence,
    Tagged,
)
from server.calls.parameters import parameters_part
from server.calls.syntax import ArgumentForm, read_words
from server.calls.tool import CUSTOM_INPUT
from server.request_errors import InvalidToolError

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from server.calls.syntax import CallSyntax
    from server.calls.tool import CallableTool

_ANY_TEXT: Final = r"[\s\S]*"
_RESOURCE: Final = "urn:tightrope:schema"


def calls_part(
    syntax: CallSyntax, tools: SequenceOf[CallableTool], *, max_calls: int | None
) -> Part:
    """One or more calls, at most `max_calls` (None: no bound), and nothing else.

    Where white space stands between calls, it may also end the answer: a model that writes it as
    its habit is, and then ends, would have to make a call that it never meant.
    """
    parts = _calls(syntax, tools, max_calls)
    between = "".join(syntax.between)
    if between.isspace() and not syntax.section_close and max_calls != 1:
        parts = (*parts, Repeat(Literal(between), maximum=1))
    return Sequence(parts)


def text_with_calls_part(
    syntax: CallSyntax, tools: SequenceOf[CallableTool], *, max_calls: int | None
) -> Part:
    """Free text in which a call, once it has begun, is a call of one of the tools.

    Where calls begin with a tag, they may stand anywhere. Where they are bare JSON, they begin the
    answer, or it is text that does not begin like one.
    """
    opener = syntax.opener
    if opener is None:
        return Either(
            (
                calls_part(syntax, tools, max_calls=max_calls),
                Embed(unlike_a_call(syntax, _ANY_TEXT)),
            )
        )
    if syntax.is_section:
        first, *rest = _calls(syntax, tools, max_calls)
        body = Sequence((_without_opener(first, opener), *rest))
        return FreeText((Tagged(opener, body),), max_tags=1)
    call = _without_opener(_call(syntax, tools), opener)
    return FreeText((Tagged(opener, call),), max_tags=max_calls)


def calls_or_json_part(
    syntax: CallSyntax,
    tools: SequenceOf[CallableTool],
    document: JsonSchema,
    *,
    max_calls: int | None,
) -> Part:
    """One or more bare JSON calls, or a JSON document that could not be read as one.

    Both begin alike, so the calls are schemas here: what is alike is then followed side by side.

    Raises:
        InvalidToolError: the input of a tool is a grammar, which no schema can hold.
    """
    for tool in tools:
        if tool.input_grammar is not None:
            raise InvalidToolError(
                tool.param,
                tool.name,
                "this model writes calls as bare JSON, where the grammar of an input cannot stand "
                "beside a JSON response_format; remove one of them, or set tool_choice",
            )
    name_key, arguments_key = (json.loads(word) for word in _keys(syntax))
    names = [tool.name for tool in tools]
    call = Embed(
        JsonSchema.from_value(
            {
                "anyOf": [
                    _call_schema({name_key: {"const": tool.name}, arguments_key: arguments})
                    for tool in tools
                    for arguments in (_resource(tool.bound_schema, f"{_RESOURCE}:{tool.name}"),)
                ]
            }
        )
    )
    more = None if max_calls is None else max_calls - 1
    next_call = Sequence((Literal("".join(syntax.between)), call))
    calls = Sequence((call, Repeat(next_call, maximum=more))) if more != 0 else call
    looks_like_a_call = {
        "type": "object",
        "properties": {name_key: {"enum": names}, arguments_key: {"type": "object"}},
        "required": [name_key, arguments_key],
    }
    asked = _resource(json.loads(document.text), _RESOURCE)
    other = {"allOf": [asked, {"not": looks_like_a_call}]}
    return Either((calls, Embed(JsonSchema.from_value(other))))


def _keys(syntax: CallSyntax) -> list[str]:
    """The keys of a bare JSON call, as they are written: that of the name, that of arguments."""
    words = (*syntax.before_name, *syntax.before_arguments)
    return [word for word in words if len(word) > 1 and word.startswith('"')]


def _call_schema(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _resource(schema: object, name: str) -> object:
    """The schema as a resource of its own, so that its references to `#` stay inside it."""
    if not isinstance(schema, Mapping) or "$id" in schema or "id" in schema:
        return schema
    return {"$id": name, **schema}


def _calls(
    syntax: CallSyntax, tools: SequenceOf[CallableTool], max_calls: int | None
) -> tuple[Part, ...]:
    call = _call(syntax, tools)
    more = None if max_calls is None else max_calls - 1
    parts: list[Part] = []
    if syntax.section_open:
        parts.append(Literal("".join(syntax.section_open)))
    parts.append(call)
    if more != 0:
        next_call = Sequence((Literal("".join(syntax.between)), call))
        parts.append(Repeat(next_call, maximum=more))
    if syntax.section_close:
        parts.append(Literal("".join(syntax.section_close)))
    return tuple(parts)


def _call(syntax: CallSyntax, tools: SequenceOf[CallableTool]) -> Sequence:
    """One call; its first part is the literal up to the name."""
    bodies = tuple(_named_call(syntax, tool) for tool in tools)
    body = bodies[0] if len(bodies) == 1 else Either(bodies)
    return Sequence((Literal("".join(syntax.before_name)), body))


def _named_call(syntax: CallSyntax, tool: CallableTool) -> Part:
    head = Literal(tool.name + "".join(syntax.before_arguments))
    arguments = _arguments_part(syntax, tool)
    return Sequence((head, arguments, Literal("".join(syntax.after_arguments))))


def _arguments_part(syntax: CallSyntax, tool: CallableTool) -> Part:
    if syntax.arguments is ArgumentForm.PARAMETERS:
        return parameters_part(tool)
    if tool.input_grammar is None:
        return Embed(JsonSchema.from_value(tool.bound_schema))
    begin, end = Literal(f'{{"{CUSTOM_INPUT}": "'), Literal('"}')
    return Sequence((begin, Embed(tool.input_grammar), end))


def _without_opener(part: Part, opener: str) -> Part:
    """The part from behind the opener on, which free text has read already."""
    match part:
        case Literal(text):
            return Literal(text.removeprefix(opener))
        case Sequence((Literal(text), *rest)):
            return Sequence((Literal(text.removeprefix(opener)), *rest))
        case _:
            raise AssertionError("calls begin with a literal")


def unlike_a_call(syntax: CallSyntax, pattern: str) -> Regex:
    """The texts of a pattern that do not begin with the words in front of a name."""
    words = r"\s*".join(map(re.escape, read_words(syntax.before_name)))
    return Regex(rf"(?!\s*{words})(?:{pattern})")
