"""with_joined_lists: of alternatives, those that only list constants are one list.

A list of constants is often written as one alternative for each, so that each can have a title.
Joined, they are read as `enum` is: by one automaton, instead of one for each to be united.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.schema.keywords import ENFORCED_KEYWORDS
from grammars.schema.leaves import exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammars.schema.document import Json

_BESIDE: Final = ENFORCED_KEYWORDS - {"const", "enum", "type"}


def with_joined_lists(branches: Sequence[Json]) -> list[tuple[str, Json]]:
    """The same alternatives, each with its pointer from the list; that of joined ones is empty.

    Nothing is joined where a constant is listed by two branches, which `oneOf` would tell.
    """
    unchanged = [(f"/{index}", branch) for index, branch in enumerate(branches)]
    listed: dict[object, Json] = {}
    others: list[tuple[str, Json]] = []
    for pointer, branch in unchanged:
        constants = _constants(branch)
        if constants is None:
            others.append((pointer, branch))
            continue
        distinct = {exact(constant): constant for constant in constants}
        if not listed.keys().isdisjoint(distinct):
            return unchanged
        listed |= distinct
    if len(unchanged) - len(others) < 2:
        return unchanged
    return [("", {"enum": list(listed.values())}), *others]


def _constants(branch: Json) -> list[Json] | None:
    """What a schema lists, if it says nothing else; for strings it may also say that they are."""
    if not isinstance(branch, dict) or not _BESIDE.isdisjoint(branch):
        return None
    if ("const" in branch) == ("enum" in branch):
        return None
    constants = [branch["const"]] if "const" in branch else branch["enum"]
    if not isinstance(constants, list) or not constants:
        return None
    if "type" in branch and not (
        branch["type"] == "string" and all(isinstance(constant, str) for constant in constants)
    ):
        return None
    return constants
