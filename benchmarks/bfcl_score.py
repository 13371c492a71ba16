"""Whether calls are right, by the rules of the Berkeley Function Calling Leaderboard's AST checker.

The number of calls and their names must be those of an answer; every argument must have the type
that is declared and one of the accepted values; one may be left out where "" is accepted. Strings
are compared without case, spaces and the characters `,./-_*^`, with ' for ".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import jsonschema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.bfcl_cases import Case

_LEFT_OUT: Final = str.maketrans("'", '"', " ,./-_*^")


@dataclass(frozen=True, slots=True)
class Call:
    """One call that a model wrote.

    Args:
        name: of the function.
        arguments: JSON text.
    """

    name: str
    arguments: str


class Mistake(Enum):
    """The first thing that is wrong with an answer."""

    NO_CALL = "no call"
    FEWER_CALLS = "fewer calls"
    MORE_CALLS = "more calls"
    FUNCTION = "another function"
    INVALID = "invalid arguments"
    MISSING = "argument left out"
    EXTRA = "argument too many"
    VALUE = "another value"


_UNFINISHED: Final = (None, Mistake.NO_CALL, Mistake.FEWER_CALLS)


def is_valid(call: Call, case: Case) -> bool:
    """Whether a call names one of the tools and its arguments are valid under its schema."""
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in case.tools}
    if call.name not in schemas:
        return False
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return False
    return jsonschema.Draft202012Validator(schemas[call.name]).is_valid(arguments)


def is_lost(case: Case, calls: Sequence[Call]) -> bool:
    """Whether an answer is wrong no matter which calls follow."""
    return find_mistake(case, calls) not in _UNFINISHED


def find_mistake(case: Case, calls: Sequence[Call]) -> Mistake | None:
    """What is wrong with the calls of an answer, which may come in any order; None: it is right."""
    wanted = list(case.ground_truth) if case.expects_call else []
    for call in calls:
        mistakes = [_mistake(call, answer, case) for answer in wanted]
        if None not in mistakes:
            of_function = [found for found in mistakes if found is not Mistake.FUNCTION]
            return next(iter(of_function), Mistake.FUNCTION if mistakes else Mistake.MORE_CALLS)
        del wanted[mistakes.index(None)]
    if not wanted:
        return None
    return Mistake.FEWER_CALLS if calls else Mistake.NO_CALL


def _mistake(
    call: Call, answer: Mapping[str, Mapping[str, list[Any]]], case: Case
) -> Mistake | None:
    ((original_name, accepted),) = answer.items()
    if case.original_names.get(call.name) != original_name:
        return Mistake.FUNCTION
    if not is_valid(call, case):
        return Mistake.INVALID
    arguments = json.loads(call.arguments)
    if not arguments.keys() <= accepted.keys():
        return Mistake.EXTRA
    for name, values in accepted.items():
        if name not in arguments:
            if "" not in values:
                return Mistake.MISSING
        elif not any(_equal(arguments[name], value) for value in values):
            return Mistake.VALUE
    return None


def _equal(given: object, accepted: object) -> bool:
    """Equality of values; objects list the accepted values of each key, as whole answers do."""
    if isinstance(given, str) and isinstance(accepted, str):
        return _plain(given) == _plain(accepted)
    if isinstance(given, bool) or isinstance(accepted, bool):
        return given is accepted
    if isinstance(given, list) and isinstance(accepted, list):
        pairs = zip(given, accepted, strict=False)
        return len(given) == len(accepted) and all(_equal(g, a) for g, a in pairs)
    if isinstance(given, dict) and isinstance(accepted, dict):
        return given.keys() <= accepted.keys() and all(
            any(_equal(given[name], value) for value in _options(values))
            if name in given
            else "" in _options(values)
            for name, values in accepted.items()
        )
    return given == accepted


def _options(values: object) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _plain(text: str) -> str:
    return text.translate(_LEFT_OUT).lower()
