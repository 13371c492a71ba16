"""Limits of structural tags: counted before anything is made of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, assert_never

from grammars.spec import Either, Embed, FreeText, JsonSchema, Literal, Repeat, Sequence
from server.request_errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammars.spec import Part, Structure

_LISTS: Final = ("structures", "triggers", "elements", "tags")
_PARTS: Final = ("format", "content")


def check_num_tags(value: Mapping[str, object], max_tags: int, param: str) -> None:
    """Check how many items all lists of a structural tag have, however deep they are.

    Triggers cost the most: two thousand, each with one tag, compile for ten seconds.

    Args:
        value: the tag, as JSON.
        max_tags: items of all lists.
        param: its path, for the error.

    Raises:
        InvalidValueError: it has more.
    """
    num_items = 0
    waiting: list[Any] = [value]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict):
            continue
        waiting += [part[name] for name in _PARTS if name in part]
        for name in _LISTS:
            if isinstance(items := part.get(name), list):
                num_items += len(items)
                waiting += items
        if num_items > max_tags:
            raise InvalidValueError(
                param,
                f"at most max_tags={max_tags} tags, triggers and elements are allowed in all lists "
                f"together, got at least {num_items}",
            )


def num_schema_chars(structure: Structure) -> int:
    """Characters of all schemas in a structure."""
    num_chars = 0
    waiting: list[Part] = [structure.root]
    while waiting:
        match part := waiting.pop():
            case Embed(JsonSchema(text)):
                num_chars += len(text)
            case Embed() | Literal():
                pass
            case Sequence(parts) | Either(parts):
                waiting += parts
            case Repeat(inner):
                waiting.append(inner)
            case FreeText(tags):
                waiting += [tag.body for tag in tags]
            case _:
                assert_never(part)
    return num_chars
