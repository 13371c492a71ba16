"""Turning pydantic's errors into ours: one path in OpenAI's spelling, one sentence."""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from server.request_errors import InvalidValueError, MissingFieldError, UnsupportedValueError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from server.errors import RequestError

_MAX_MESSAGE_CHARS: Final = 300
_MAX_VALUE_CHARS: Final = 40
_NOT_OF_A_LIST: Final = frozenset({"literal_error", "none_required", "union_tag_invalid"})

_OF_JSON: Final = MappingProxyType(  # pydantic's name of an error -> what it is in JSON's words
    {
        "dict_type": "Input should be an object",
        "model_type": "Input should be an object",
        "model_attributes_type": "Input should be an object",
        "list_type": "Input should be an array",
    }
)
_MISSING: Final = frozenset({"missing", "union_tag_not_found"})
_TEXT_ALONE: Final = "the served models read text alone"
_TEXT_OF_DOCUMENT: Final = f"{_TEXT_ALONE}, so send the document's text as a source of type 'text'"
_WAYS_OUT: Final = MappingProxyType(  # path without indexes -> what to do about its other values
    {
        "messages[].content[].type": _TEXT_ALONE,
        "messages[].content[].content[].type": _TEXT_ALONE,
        "messages[].content[].source.content[].type": _TEXT_ALONE,
        "messages[].content[].content[].source.content[].type": _TEXT_ALONE,
        "messages[].content[].source.type": _TEXT_OF_DOCUMENT,
        "messages[].content[].content[].source.type": _TEXT_OF_DOCUMENT,
        "input[].content[].type": _TEXT_ALONE,
        "input[].output[].type": _TEXT_ALONE,
        "input[].type": "only messages, calls, their outputs and reasoning are",
        "text.format.type": "use text, json_object or json_schema",
        "messages[].audio": _TEXT_ALONE,
        "messages[].tool_calls[].type": "only calls of type 'function' and 'custom' are",
        "tools[].type": "only tools of type 'function' and 'custom' are",
        "structured_outputs.whitespace_pattern": "whitespace is bounded by the server; remove it",
        "modalities[]": "the served models answer with text alone",
    }
)


def request_error(error: ValidationError, body: Mapping[str, object]) -> RequestError:
    """The error that says the most: of the deepest path in the body, the first in the body.

    A union reports one error for each member; those at the same place are joined with "or".
    """
    problems = [
        (_path_of(problem, body), problem)
        for problem in error.errors(include_url=False, include_input=True)
    ]
    order = {name: place for place, name in enumerate(body)}
    deepest = max(problems, key=lambda problem: _precedence(problem[0], order))[0]
    here = [problem for path, problem in problems if path == deepest]
    path = format_path(deepest)
    if all(problem["type"] in _MISSING for problem in here):
        return MissingFieldError(path)
    way_out = _WAYS_OUT.get(re.sub(r"\[\d+\]", "[]", path))
    if way_out is not None and all(problem["type"] in _NOT_OF_A_LIST for problem in here):
        return UnsupportedValueError(path, f"{_given(here[0])} is not supported; {way_out}")
    messages = dict.fromkeys(map(_sentence, here))
    return InvalidValueError(path, " or ".join(filter(None, messages))[:_MAX_MESSAGE_CHARS])


def _precedence(path: Sequence[str | int], order: Mapping[str, int]) -> tuple[int, int]:
    """The deepest path goes first, then what stands first in the body; missing fields go last."""
    first = str(path[0]) if path else ""
    return len(path), -order.get(first, len(order))


def _path_of(problem: ErrorDetails, body: Mapping[str, object]) -> tuple[str | int, ...]:
    """The place of a problem; that of a union without a fitting member is its tag's."""
    path = _body_path(problem["loc"], body, is_missing=problem["type"] == "missing")
    if problem["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return (*path, problem["ctx"]["discriminator"].strip("'"))
    return path


def _given(problem: ErrorDetails) -> str:
    """The value that is refused, if it is short."""
    if problem["type"] == "union_tag_invalid":
        return repr(problem["ctx"]["tag"][:_MAX_VALUE_CHARS])
    value = problem["input"]
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _MAX_VALUE_CHARS else "this value"


def _sentence(problem: ErrorDetails) -> str:
    kind = problem["type"]
    if kind in _MISSING:
        return ""
    if kind == "union_tag_invalid":
        return f"{_given(problem)} is not one of {problem['ctx']['expected_tags']}"
    if kind == "too_short":
        least, given = problem["ctx"]["min_length"], problem["ctx"]["actual_length"]
        return f"at least {least} {'is' if least == 1 else 'are'} needed, got {given}"
    return _OF_JSON.get(kind, problem["msg"])


def format_path(parts: Sequence[str | int]) -> str:
    """`["messages", 0, "content"]` as `messages[0].content`."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def _body_path(
    loc: tuple[str | int, ...], body: Mapping[str, object], *, is_missing: bool
) -> tuple[str | int, ...]:
    """The parts of a pydantic location that are steps in the body, not names of union members.

    The last part of a missing field is kept, though the body lacks it.
    """
    path: list[str | int] = []
    value: object = body
    for index, part in enumerate(loc):
        if isinstance(value, dict) and isinstance(part, str):
            if part in value:
                path.append(part)
                value = value[part]
            elif is_missing and index == len(loc) - 1:
                path.append(part)
        elif isinstance(value, list) and isinstance(part, int):
            path.append(part)
            value = value[part]
    return tuple(path)
