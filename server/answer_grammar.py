"""The grammar of an answer: what a request asks for as one spec, compiled or refused by name."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, assert_never

from grammars.errors import GrammarError
from grammars.spec import (
    Cfg,
    Choice,
    JsonObject,
    JsonSchema,
    Regex,
    Structure,
    with_property_order,
)
from server.chat.thinking import Thinking
from server.composition import compose, with_limited_thoughts
from server.errors import RequestError
from server.request_errors import (
    InvalidToolError,
    InvalidValueError,
    UnsupportedValueError,
    without_root,
)
from server.tool_choice import CallMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.spec import GrammarSpec, PropertyOrder
    from server.calls.tool import CallableTool
    from server.chat.reply_format import ReplyFormat
    from server.document import Document
    from server.grammar_compiler import ServedGrammar
    from server.services import Services
    from server.tool_choice import ToolUse
    from server.wire.chat_request import ChatCompletionRequest

_Part: TypeAlias = "tuple[GrammarSpec, Callable[[str], RequestError]]"
"""A part of an answer, and the error that tells why it was refused."""


def asked_grammar(
    request: ChatCompletionRequest,
    tools: ToolUse,
    document: Document | None,
    thinking: Thinking,
    reply_format: ReplyFormat,
) -> GrammarSpec | None:
    """What `server.composition` makes of a request; None: the answer is free text.

    Raises:
        RequestError: parts that cannot be combined with this model's way of writing, or at all.
    """
    is_auto = tools.mode is CallMode.AUTO
    if document is not None and is_auto and reply_format.calls.opener is None:
        _check_told_apart(document)
    is_bound = document is not None or tools.mode in (CallMode.REQUIRED, CallMode.NAMED)
    if request.continue_final_message and is_bound:
        raise InvalidValueError(
            "continue_final_message",
            "a constraint holds for whole answers, so it cannot be combined with one",
        )
    spec = None if document is None else document.spec
    budget = None if thinking is Thinking.NONE else request.thinking_token_budget
    answer = compose(tools, spec, thinking, reply_format, limits_thoughts=budget is not None)
    if answer is None or budget is None:
        return answer
    return with_limited_thoughts(answer, thinking, reply_format.thoughts, budget)


def _check_told_apart(document: Document) -> None:
    """Beside bare JSON calls, a text must not be one that would be read as a call."""
    match document.spec:
        case Choice(options):
            is_clear = not any(option.lstrip().startswith("{") for option in options)
        case Cfg() | Structure():
            is_clear = False
        case JsonSchema() | JsonObject() | Regex():
            is_clear = True  # the composition leaves such texts out
        case _:
            assert_never(document.spec)
    if not is_clear:
        raise UnsupportedValueError(
            document.param,
            "this model writes calls as bare JSON, which could not be told from such a text; set "
            "tool_choice to 'none' or 'required', or use a JSON Schema or a regex",
        )


async def compile_asked(
    spec: GrammarSpec,
    tools: ToolUse,
    document: Document | None,
    services: Services,
    *,
    property_order: PropertyOrder,
    caller: bytes,
    closes: bool,
) -> ServedGrammar:
    """Compile the grammar of an answer, when it is the caller's turn.

    Args:
        spec: the whole answer; its documents have their property order.
        tools: part of it.
        document: part of it.
        services: with the compiler.
        property_order: of JSON documents in the parts.
        caller: who asks; callers take turns.
        closes: whether the answer has to close in time.

    Raises:
        RequestError: the grammars room refuses it; the part that is to blame is named.
        OverloadedError: too many compiles are waiting.
    """
    try:
        with services.metrics.compiling():
            for pattern in _bracketed(tools, document):
                await services.compiler.compile(pattern, caller=caller)
            return await services.compiler.compile(spec, caller=caller, closes=closes)
    except GrammarError as error:
        parts = await asyncio.to_thread(_ordered_parts, tools, document, property_order)
        blamed = await _blamed(parts, services, caller)
        if blamed is not None:
            raise blamed from error
        param = "tools" if tools.tools else None if document is None else document.param
        reason = without_root(str(error))
        raise RequestError(f"The constraints cannot be combined: {reason}", param=param) from error


def _bracketed(tools: ToolUse, document: Document | None) -> Iterator[Regex]:
    """The patterns that the whole may have in brackets, where `a)|(b` would be one, and mean more.

    So each is compiled alone too, which is refused if it is none.
    """
    if document is not None and isinstance(document.spec, Regex) and tools.mode is CallMode.AUTO:
        yield document.spec
    for tool in tools.tools:
        if tool.input_pattern is not None:
            yield tool.input_pattern


async def _blamed(
    parts: list[_Part],
    services: Services,
    caller: bytes,
) -> RequestError | None:
    """The error of the first part that cannot be compiled alone; None: each can."""
    for part, refusal in parts:
        try:
            await services.compiler.compile(part, caller=caller)
        except GrammarError as error:
            return refusal(str(error))
    return None


def _ordered_parts(
    tools: ToolUse, document: Document | None, property_order: PropertyOrder
) -> list[_Part]:
    return [
        (with_property_order(part, property_order), refusal)
        for part, refusal in _parts(tools, document)
    ]


def _parts(tools: ToolUse, document: Document | None) -> Iterator[_Part]:
    """What the answer is made of."""
    if document is not None and tools.allows_text:
        yield document.spec, document.refusal
    for tool in tools.tools:
        if tool.input_pattern is not None:
            yield tool.input_pattern, partial(_input_refusal, tool, "pattern")
        if tool.input_grammar is not None:
            yield tool.input_grammar, partial(_input_refusal, tool, "grammar")
        else:
            refusal = partial(InvalidToolError, tool.param, tool.name)
            yield JsonSchema.from_value(tool.bound_schema), refusal


def _input_refusal(tool: CallableTool, kind: str, reason: str) -> InvalidToolError:
    kind = f"{kind} for custom tool"
    return InvalidToolError(tool.param, tool.name, without_root(reason), kind=kind)
