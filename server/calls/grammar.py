"""Grammars of tool calls in any format: exactly the calls that the tools allow."""

from __future__ import annotations

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

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from server.calls.syntax import CallSyntax
    from server.calls.tool import CallableTool

_ANY_TEXT: Final = r"[\s\S]*"


def calls_part(
    syntax: CallSyntax, tools: SequenceOf[CallableTool], *, max_calls: int | None
) -> Part:
    """One or more calls, at most `max_calls` (None: no bound), and nothing else."""
    return Sequence(_calls(syntax, tools, max_calls))


def text_with_calls_part(
    syntax: CallSyntax, tools: SequenceOf[CallableTool], *, max_calls: int | None
) -> Part:
    """Free text in which a call, once it has begun, is a call of one of the tools.

    Where calls begin with a tag, they may stand anywhere. Where they are bare JSON, they begin the
    answer, or it is text that does not begin like one.
    """
    opener = syntax.opener
    if opener is None:
        return Either((calls_part(syntax, tools, max_calls=max_calls), _text_unlike_a_call(syntax)))
    if syntax.is_section:
        first, *rest = _calls(syntax, tools, max_calls)
        body = Sequence((_without_opener(first, opener), *rest))
        return FreeText((Tagged(opener, body),), max_tags=1)
    call = _without_opener(_call(syntax, tools), opener)
    return FreeText((Tagged(opener, call),), max_tags=max_calls)


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
    if syntax.arguments is ArgumentForm.JSON:
        arguments: Part = Embed(JsonSchema.from_value(tool.schema))
    else:
        arguments = parameters_part(tool)
    return Sequence((head, arguments, Literal("".join(syntax.after_arguments))))


def _without_opener(part: Part, opener: str) -> Part:
    """The part from behind the opener on, which free text has read already."""
    match part:
        case Literal(text):
            return Literal(text.removeprefix(opener))
        case Sequence((Literal(text), *rest)):
            return Sequence((Literal(text.removeprefix(opener)), *rest))
        case _:
            raise AssertionError("calls begin with a literal")


def _text_unlike_a_call(syntax: CallSyntax) -> Part:
    r"""Text that does not begin with the words in front of a name, white space aside.

    The complement of a list of words W1 \s* W2 ..., as nested optional groups: at each character
    the text ends, or goes on otherwise, or goes on as the words do and is looked at further.
    """
    pattern = ""
    for word in reversed(read_words(syntax.before_name)):
        for index in range(len(word) - 1, -1, -1):
            character = rf"\u{ord(word[index]):04x}"
            goes_on = rf"|{character}{pattern}" if pattern else ""
            if index:
                pattern = rf"(?:[^{character}]{_ANY_TEXT}{goes_on})?"
            else:
                pattern = rf"\s*(?:[^\s{character}]{_ANY_TEXT}{goes_on})?"
    return Embed(Regex(pattern))
