"""Metered methods: those of texts, dicts and lists that a template may call, and what they cost."""

from __future__ import annotations

from types import BuiltinMethodType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from server.chat.metered.growth import (
    spend_format,
    spend_join,
    spend_pieces,
    spend_replace,
    spend_search,
    spend_size,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.chat.metered.budget import RenderBudget

_TESTS: Final = (
    *("count", "endswith", "find", "index", "isalnum", "isalpha", "isascii", "isdecimal"),
    *("isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper", "startswith"),
)
_COPIES: Final = (
    *("capitalize", "casefold", "lower", "partition", "removeprefix", "removesuffix"),
    *("swapcase", "title", "upper"),
)
_SEARCHES: Final = ("lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "strip")
_CUTS: Final = ("rsplit", "split", "splitlines")
_FORMATS: Final = ("format", "format_map")

_ALLOWED: Final = (
    (str, frozenset([*_TESTS, *_COPIES, *_SEARCHES, *_CUTS, *_FORMATS, "join", "replace"])),
    (dict, frozenset(["copy", "get", "items", "keys", "values"])),
    (list, frozenset(["copy", "count", "index"])),
    (tuple, frozenset(["count", "index"])),
    ((int, float), frozenset[str]()),
)


def may_be_used(value: object, attribute: str) -> bool:
    """Whether a template may use this attribute of a value; of other types it is not asked."""
    for kind, names in _ALLOWED:
        if isinstance(value, kind):
            return attribute in names
    return True


def spend_method(
    budget: RenderBudget, function: object, arguments: Sequence[Any], options: dict[str, Any]
) -> None:
    """Pay for the call of a method of a text, a dict or a list; others pay for themselves."""
    if isinstance(function, FunctionType):  # Jinja's own `format`, which stands for that of str
        function = getattr(function, "__wrapped__", function)
    if not isinstance(function, BuiltinMethodType | MethodType):
        return
    given = [*arguments, *options.values()]
    budget.weigh(given)
    owner, name = function.__self__, function.__name__
    if isinstance(owner, str):
        _spend_text_method(budget, owner, name, given)
    elif isinstance(owner, list | tuple) and name in ("count", "index"):
        budget.weigh(owner)
    elif isinstance(owner, list | dict) and name == "copy":
        spend_size(budget, owner)


def _spend_text_method(budget: RenderBudget, text: str, name: str, given: Sequence[Any]) -> None:
    first = given[0] if given and isinstance(given[0], str) else None
    if name in _SEARCHES:
        spend_search(budget, text, first or "")
    if name in _CUTS:
        spend_pieces(budget, text, first)
    elif name in _FORMATS:
        spend_format(budget, text, given)
    elif name == "replace" and len(given) > 1:
        spend_replace(budget, text, str(given[0]), str(given[1]))
    elif name == "join" and given:
        spend_join(budget, text, given[0])
    elif name in _TESTS:
        budget.spend(1 + len(text) // 256)
    else:
        budget.spend(1, len(text))
