"""Composition: thinking x tools x document, as one grammar spec for the whole answer.

| calls    | document | the answer, behind the thoughts                               |
|----------|----------|---------------------------------------------------------------|
| none     | no       | free text (no grammar at all)                                 |
| none     | yes      | the document                                                  |
| auto     | no       | free text; what begins as a call is a call of one of the tools |
| auto     | yes      | one or more calls, or the document                            |
| required | any      | one or more calls                                             |
| named    | any      | exactly one call of that tool                                 |

`parallel_tool_calls: false` makes "one or more" exactly one, and allows one call in free text.
Calls are written in the model's own format (`server.calls.formats`). Thoughts are free text up to
the first closing tag; the grammar of the answer begins behind it. With a budget of tokens for the
thoughts there is always a grammar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from grammars.spec import (
    Either,
    Embed,
    FreeText,
    JsonObject,
    JsonSchema,
    LimitedBlock,
    Literal,
    Part,
    Regex,
    Sequence,
    Structure,
    Tagged,
    TextSpec,
)
from server.calls.grammar import (
    calls_or_json_part,
    calls_part,
    text_with_calls_part,
    unlike_a_call,
)
from server.chat.thinking import Thinking
from server.tool_choice import CallMode

if TYPE_CHECKING:
    from server.chat.reply_format import ReplyFormat
    from server.chat.thinking import ThoughtTags
    from server.document import DocumentSpec
    from server.tool_choice import ToolUse

_BEHIND_THOUGHTS: Final = "\n\n"
"""What models write between thoughts and the answer; before a constrained one it is forced."""


def compose(
    tools: ToolUse,
    document: DocumentSpec | None,
    thinking: Thinking,
    reply_format: ReplyFormat,
    *,
    limits_thoughts: bool = False,
) -> TextSpec | None:
    """The grammar of an answer.

    Args:
        tools: which calls are allowed.
        document: what the text is bound to, if it is.
        thinking: what the prompt says of a block of thoughts.
        reply_format: how the model writes calls and thoughts.
        limits_thoughts: whether thoughts have to be told apart in free text too.

    Returns:
        None where nothing is asked for: the answer is free text.

    Raises:
        InvalidToolError: arguments that the model's format cannot hold.
    """
    if tools.mode is CallMode.NONE and thinking is Thinking.NONE:
        return document
    if tools.mode is CallMode.NONE and document is None:
        return Structure(_free(thinking, reply_format.thoughts)) if limits_thoughts else None
    answer = _answer(tools, document, reply_format)
    return Structure(_with_thoughts(answer, thinking, reply_format.thoughts))


def with_limited_thoughts(
    answer: TextSpec, thinking: Thinking, tags: ThoughtTags, max_tokens: int
) -> LimitedBlock:
    """The same answer, with so many tokens of thoughts at most.

    Args:
        answer: in which thoughts are told apart.
        thinking: what the prompt says of a block of thoughts: not that there is none.
        tags: around thoughts.
        max_tokens: without the tags.
    """
    begin = "" if thinking is Thinking.OPEN else tags.open
    return LimitedBlock(answer, begin, tags.close, max_tokens)


def _answer(tools: ToolUse, document: DocumentSpec | None, reply_format: ReplyFormat) -> Part:
    syntax = reply_format.calls
    match tools.mode:
        case CallMode.NONE:
            assert document is not None
            return _document(document)
        case CallMode.AUTO if document is None:
            return text_with_calls_part(syntax, tools.tools, max_calls=tools.max_calls)
        case CallMode.AUTO:
            assert document is not None
            if syntax.opener is None and isinstance(document, JsonSchema | JsonObject):
                return calls_or_json_part(
                    syntax, tools.tools, _as_schema(document), max_calls=tools.max_calls
                )
            if syntax.opener is None and isinstance(document, Regex):
                document = unlike_a_call(syntax, document.pattern)
            calls = calls_part(syntax, tools.tools, max_calls=tools.max_calls)
            return Either((calls, _document(document)))
        case CallMode.REQUIRED | CallMode.NAMED:
            return calls_part(syntax, tools.tools, max_calls=tools.max_calls)
        case _:
            assert_never(tools.mode)


def _document(spec: DocumentSpec) -> Part:
    return spec.root if isinstance(spec, Structure) else Embed(spec)


def _as_schema(document: JsonSchema | JsonObject) -> JsonSchema:
    if isinstance(document, JsonSchema):
        return document
    return JsonSchema.from_value({"type": "object"}, whitespace=document.whitespace)


def _with_thoughts(answer: Part, thinking: Thinking, tags: ThoughtTags) -> Part:
    match thinking:
        case Thinking.NONE:
            return answer
        case Thinking.OPEN:
            return _behind_thoughts(answer, tags)
        case Thinking.OPTIONAL:
            thoughtful = Sequence((Literal(tags.open), _behind_thoughts(answer, tags)))
            return Either((thoughtful, answer))
        case _:
            assert_never(thinking)


def _free(thinking: Thinking, tags: ThoughtTags) -> Part:
    """Any text; thoughts in it end before it does."""
    if thinking is Thinking.OPEN:
        return _behind_thoughts(FreeText(), tags)
    return FreeText((Tagged(tags.open, FreeText(end=tags.close)),), max_tags=1)


def _behind_thoughts(answer: Part, tags: ThoughtTags) -> Part:
    thoughts = FreeText(end=tags.close)
    if isinstance(answer, FreeText):
        return Sequence((thoughts, answer))
    return Sequence((thoughts, Literal(_BEHIND_THOUGHTS), answer))
