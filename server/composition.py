"""Composition: thinking x tools x document, as one grammar spec for the whole answer.

| calls    | document | the answer, behind the thoughts                               |
|----------|----------|---------------------------------------------------------------|
| none     | no       | free text (no grammar at all)                                 |
| none     | yes      | the document                                                  |
| auto     | no       | free text; from `<tool_call>` on, a call of one of the tools  |
| auto     | yes      | one or more calls, or the document                            |
| required | any      | one or more calls                                             |
| named    | any      | exactly one call of that tool                                 |

`parallel_tool_calls: false` makes "one or more" exactly one, and allows one call in free text.
Calls are written as Hermes and Qwen models write them:

    <tool_call>
    {"name": "f", "arguments": {...}}
    </tool_call>

Thoughts are free text up to the first `</think>`; the grammar of the answer begins behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from grammars.spec import (
    Either,
    Embed,
    FreeText,
    GrammarSpec,
    JsonSchema,
    Literal,
    Part,
    Repeat,
    Sequence,
    Structure,
    Tagged,
)
from server.chat.thinking import THINK_CLOSE, THINK_OPEN, Thinking
from server.reply.parser import CALL_CLOSE, CALL_OPEN
from server.tool_choice import CallMode

if TYPE_CHECKING:
    from server.document import DocumentSpec
    from server.tool_choice import ToolUse

_BEHIND_THOUGHTS = "\n\n"
"""What models write between `</think>` and the answer; before a constrained one it is forced."""


def compose(
    tools: ToolUse, document: DocumentSpec | None, thinking: Thinking
) -> GrammarSpec | None:
    """The grammar of an answer.

    Args:
        tools: which calls are allowed.
        document: what the text is bound to, if it is.
        thinking: what the prompt says of a reasoning block.

    Returns:
        None where nothing is asked for: the answer is free text.
    """
    if tools.mode is CallMode.NONE and document is None:
        return None
    if tools.mode is CallMode.NONE and thinking is Thinking.NONE:
        return document
    return Structure(_with_thoughts(_answer(tools, document), thinking))


def _answer(tools: ToolUse, document: DocumentSpec | None) -> Part:
    match tools.mode:
        case CallMode.NONE:
            assert document is not None
            return Embed(document)
        case CallMode.AUTO if document is None:
            return FreeText((Tagged(CALL_OPEN, _call_body(tools)),), max_tags=tools.max_calls)
        case CallMode.AUTO:
            assert document is not None
            return Either((_calls(tools), Embed(document)))
        case CallMode.REQUIRED | CallMode.NAMED:
            return _calls(tools)
        case _:
            assert_never(tools.mode)


def _calls(tools: ToolUse) -> Part:
    """One or more calls with a newline between, and nothing else."""
    call = Sequence((Literal(CALL_OPEN), _call_body(tools)))
    if tools.max_calls == 1:
        return call
    more = None if tools.max_calls is None else tools.max_calls - 1
    return Sequence((call, Repeat(Sequence((Literal("\n"), call)), maximum=more)))


def _call_body(tools: ToolUse) -> Part:
    """What follows `<tool_call>`, the closing tag included. Names are letters, digits and `_-.`."""
    bodies = tuple(
        Sequence(
            (
                Literal(f'\n{{"name": "{name}", "arguments": '),
                Embed(JsonSchema.from_value(schema)),
                Literal("}\n" + CALL_CLOSE),
            )
        )
        for name, schema in tools.schemas.items()
    )
    return bodies[0] if len(bodies) == 1 else Either(bodies)


def _with_thoughts(answer: Part, thinking: Thinking) -> Part:
    match thinking:
        case Thinking.NONE:
            return answer
        case Thinking.OPEN:
            return _behind_thoughts(answer)
        case Thinking.OPTIONAL:
            return Either((Sequence((Literal(THINK_OPEN), _behind_thoughts(answer))), answer))
        case _:
            assert_never(thinking)


def _behind_thoughts(answer: Part) -> Part:
    thoughts = FreeText(end=THINK_CLOSE)
    if isinstance(answer, FreeText):
        return Sequence((thoughts, answer))
    return Sequence((thoughts, Literal(_BEHIND_THOUGHTS), answer))
