"""Whether calls are right, by the rules of the Berkeley Function Calling Leaderboard's AST checker.

The number of calls and their names must be those of an answer; every argument must have the type
that is declared and one of the accepted values; one may be left out where "" is accepted. Strings
are compared without case, spaces and the characters `,./-_*^`, with ' for ".
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import jsonschema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def is_valid(call: Call, tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a call names one of the tools and its arguments are valid under its schema."""
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    if call.name not in schemas:
        return False
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return False
    return jsonschema.Draft202012Validator(schemas[call.name]).is_valid(arguments)


def is_right(case: Mapping[str, Any], calls: Sequence[Call]) -> bool:
    """Whether the calls are an answer that the case accepts, in any order."""
    if case["expect"] == "no_call":
        return not calls
    wanted = list(case["ground_truth"])
    if len(calls) != len(wanted):
        return False
    for call in calls:
        match = next((w for w in wanted if _matches(call, w, case)), None)
        if match is None:
            return False
        wanted.remove(match)
    return True


def _matches(call: Call, wanted: Mapping[str, Any], case: Mapping[str, Any]) -> bool:
    ((original_name, accepted),) = wanted.items()
    if case["name_map"].get(call.name) != original_name or not is_valid(call, case["tools"]):
        return False
    arguments = json.loads(call.arguments)
    if not arguments.keys() <= accepted.keys():
        return False
    return all(
        any(_equal(arguments[name], value) for value in values)
        if name in arguments
        else "" in values
        for name, values in accepted.items()
    )


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
