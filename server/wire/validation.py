"""Turning pydantic's errors into ours: one path in OpenAI's spelling, one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.errors import InvalidValueError, MissingFieldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import ValidationError

    from server.errors import RequestError

_MAX_MESSAGE_CHARS = 300


def request_error(error: ValidationError, body: Mapping[str, object]) -> RequestError:
    """The error that tells the most: of the deepest path that exists in the body.

    A union reports one error for each member; those at the same place are joined with "or".
    """
    problems = [
        (
            _body_path(problem["loc"], body, is_missing=problem["type"] == "missing"),
            problem["type"],
            problem["msg"].partition(" or instance of ")[0],
        )
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    deepest = max(problems, key=lambda problem: len(problem[0]))[0]
    here = [problem for problem in problems if problem[0] == deepest]
    path = format_path(deepest)
    if all(kind == "missing" for _, kind, _ in here):
        return MissingFieldError(path)
    messages = dict.fromkeys(message for _, kind, message in here if kind != "missing")
    return InvalidValueError(path, " or ".join(messages)[:_MAX_MESSAGE_CHARS])


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
