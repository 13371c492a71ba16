"""Metered filters and tests: those of Jinja that chat templates use, each paid for by its work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import jinja2
from jinja2.filters import FILTERS
from jinja2.tests import TESTS

from server.chat.metered.growth import (
    MAX_WIDTH,
    check_digits,
    spend_format,
    spend_indent,
    spend_join,
    spend_replace,
    spend_search,
    spend_size,
)
from server.chat.metered.syntax import COMPARED, CONCAT, MADE, SPEND

if TYPE_CHECKING:
    from jinja2.runtime import Context

    from server.chat.metered.budget import RenderBudget

Function: TypeAlias = Callable[..., Any]

_CHEAP: Final = ("abs", "count", "d", "default", "float", "items", "length", "safe")
_LAZY: Final = ("map", "reject", "rejectattr", "select", "selectattr")
_ONE: Final = ("first", "last")
_WHOLE: Final = (
    *("capitalize", "dictsort", "e", "escape", "list", "lower", "max", "min", "reverse"),
    *("sort", "string", "title", "unique", "upper"),
)
_COMPARING: Final = (
    *("==", "eq", "equalto", "!=", "ne", "<", "lt", "lessthan", "<=", "le"),
    *(">", "gt", "greaterthan", ">=", "ge", "in", "lower", "upper"),
)
_PRINT_STEPS: Final = 4
_MAX_ROUNDING: Final = 100


def budget_of(context: Context) -> RenderBudget:
    """The budget of the rendering that a context belongs to."""
    budget: RenderBudget = context.budget  # type: ignore[attr-defined]  # see `_Context`
    return budget


def metered_filters() -> dict[str, Function]:
    """The filters by name."""
    known = cast("Mapping[str, Function]", FILTERS)  # jinja2 says no more than "function"
    filters = {name: known[name] for name in (*_CHEAP, *_ONE)}
    filters |= {name: _lazily(known[name]) for name in _LAZY}
    filters |= {name: _wholly(known[name]) for name in _WHOLE}
    filters |= {"format": _format, "indent": _indent, "join": _join, "replace": _replace}
    filters |= {"int": _int, "round": _round, "tojson": _tojson, "trim": _trim}
    return filters | {SPEND: _spend, CONCAT: _concat, MADE: _made, COMPARED: _compared}


def metered_tests() -> dict[str, Function]:
    """The tests by name."""
    tests = cast("Mapping[str, Function]", TESTS)
    return {**tests} | {name: _wholly(tests[name]) for name in _COMPARING}


@jinja2.pass_context
def printed(context: Context, value: object) -> object:
    """What is about to be written: every piece of output passes through here."""
    budget = budget_of(context)
    budget.spend(_PRINT_STEPS, len(value) if isinstance(value, str) else budget.weigh(value))
    return value


def paid_items(context: Context, items: Iterable[Any]) -> Iterator[Any]:
    """The items of anything, one after the other."""
    for item in items:
        budget_of(context).spend_items(1)
        yield item


def _wholly(function: Function) -> Function:
    """For what goes through its first argument, and the others, once."""
    inner = _with_context(function)

    @jinja2.pass_context
    def metered(context: Context, value: object, *arguments: object, **options: object) -> object:
        budget = budget_of(context)
        if isinstance(value, Iterator):
            value = list(paid_items(context, value))
        budget.spend(1, budget.weigh([value, *arguments, *options.values()]))
        if isinstance(value, Sized):
            budget.spend_items(0 if isinstance(value, str) else len(value))
        if function is FILTERS["list"] and isinstance(value, str):
            budget.spend_items(len(value))
        return inner(context, value, *arguments, **options)

    return metered


def _lazily(function: Function) -> Function:
    """For what is worked on item by item, when it is asked for."""
    inner = _with_context(function)

    @jinja2.pass_context
    def metered(
        context: Context, value: object, *arguments: object, **options: object
    ) -> Iterator[Any]:
        return paid_items(context, inner(context, value, *arguments, **options))

    return metered


def _with_context(function: Function) -> Function:
    """Any filter or test, called with the context whatever it wants to be passed."""
    wanted = getattr(function, "jinja_pass_arg", None)
    match None if wanted is None else wanted.name:
        case None:
            return lambda _context, *arguments, **options: function(*arguments, **options)
        case "context":
            return function
        case "eval_context":
            return lambda context, *args, **options: function(context.eval_ctx, *args, **options)
        case _:
            return lambda context, *args, **options: function(context.environment, *args, **options)


@jinja2.pass_context
def _spend(context: Context, cost: tuple[int, int]) -> bool:
    budget_of(context).spend(*cost)
    return True


@jinja2.pass_context
def _concat(context: Context, parts: list[object]) -> str:
    budget = budget_of(context)
    budget.spend(1, budget.weigh(parts))
    return "".join(map(str, parts))


@jinja2.pass_context
def _made(context: Context, value: object) -> object:
    spend_size(budget_of(context), value)
    return value


@jinja2.pass_context
def _compared(context: Context, value: object) -> object:
    if isinstance(value, Sized):
        budget_of(context).weigh(value)
    return value


@jinja2.pass_context
def _format(context: Context, value: object, *arguments: object, **options: object) -> str:
    if arguments and options:
        raise jinja2.TemplateError("format takes values by place or by name, not both")
    given = options or arguments
    text = _text(context, value)
    spend_format(budget_of(context), text, given)
    return text % given


@jinja2.pass_context
def _indent(
    context: Context, value: object, width: object = 4, *arguments: object, **options: object
) -> object:
    text = _text(context, value)
    spend_indent(budget_of(context), text, width)
    indent: Function = FILTERS["indent"]
    return indent(text, width, *arguments, **options)


@jinja2.pass_context
def _join(
    context: Context,
    value: Iterable[object],
    d: object = "",
    attribute: str | int | None = None,
) -> object:
    separator = _text(context, d)
    items = list(paid_items(context, value))
    spend_join(budget_of(context), separator, items)
    join: Function = FILTERS["join"]
    return join(context.eval_ctx, items, separator, attribute)


@jinja2.pass_context
def _replace(
    context: Context, value: object, old: object, new: object, count: int | None = None
) -> str:
    text, old, new = _text(context, value), _text(context, old), _text(context, new)
    spend_replace(budget_of(context), text, old, new)
    return text.replace(old, new, -1 if count is None else count)


def _int(value: object, default: int = 0, base: int = 10) -> object:
    check_digits(value)
    reading: Function = FILTERS["int"]
    return reading(value, default, base)


@jinja2.pass_context
def _trim(context: Context, value: object, chars: str | None = None) -> str:
    text = _text(context, value)
    spend_search(budget_of(context), text, chars or "")
    budget_of(context).spend(1, len(text))
    return text.strip(chars)


def _round(value: float, precision: int = 0, method: str = "common") -> object:
    if not -_MAX_ROUNDING <= precision <= _MAX_ROUNDING:
        raise jinja2.TemplateError(f"round takes at most {_MAX_ROUNDING} digits")
    rounding: Function = FILTERS["round"]
    return rounding(value, precision, method)


@jinja2.pass_context
def _tojson(
    context: Context,
    value: object,
    ensure_ascii: bool = False,
    indent: str | int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """As chat templates have it: nothing is escaped for HTML."""
    budget = budget_of(context)
    budget.spend(1, budget.weigh(value))
    for option in (*(separators or ()), indent):
        if (len(option) if isinstance(option, str) else option or 0) > MAX_WIDTH:
            raise jinja2.TemplateError(f"tojson separates by at most {MAX_WIDTH} characters")
    encoder = json.JSONEncoder(
        ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )
    if indent is None and separators is None:
        return encoder.encode(value)
    pieces = []
    for piece in encoder.iterencode(value):  # each as long as the options make it
        budget.spend(1, len(piece))
        pieces.append(piece)
    return "".join(pieces)


def _text(context: Context, value: object) -> str:
    """A value as filters of texts read it."""
    if isinstance(value, str):
        return value
    budget = budget_of(context)
    budget.spend(1, budget.weigh(value))
    return str(value)
