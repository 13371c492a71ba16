"""find_refusals: why a schema is refused, every refusal and not only the first."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from grammars.errors import (
    GrammarError,
    InvalidGrammarError,
    LimitExceededError,
    UnsatisfiableError,
    UnsupportedError,
)
from grammars.schema.pointers import find_at

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_REFUSALS: Final = 50


class RefusalKind(Enum):
    """Why a spec is refused; the value is for readers."""

    UNSUPPORTED = "unsupported"
    INVALID = "invalid"
    LIMIT = "limit"
    UNSATISFIABLE = "unsatisfiable"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason.

    Args:
        kind: what it is about.
        pointer: JSON Pointer to the schema node; None where the compiler names no place.
        keyword: the keyword concerned, if one is.
        reason: one sentence, without the place.
    """

    kind: RefusalKind
    pointer: str | None
    keyword: str | None
    reason: str

    @classmethod
    def of(cls, error: GrammarError) -> Refusal:
        """What a refusing compiler said.

        Raises:
            GrammarError: `error` itself, where it is no refusal of the spec.
        """
        match error:
            case UnsupportedError():
                kind = RefusalKind.UNSUPPORTED
            case InvalidGrammarError():
                kind = RefusalKind.INVALID
            case UnsatisfiableError():
                kind = RefusalKind.UNSATISFIABLE
            case LimitExceededError():
                return cls(RefusalKind.LIMIT, None, None, str(error))
            case _:
                raise error
        reason = error.reason if error.place is None else str(error)
        return cls(kind, error.pointer if error.place is None else None, error.keyword, reason)


@dataclass(frozen=True, slots=True)
class Refusals:
    """All that was found.

    Args:
        found: in the order in which the compiler met them; empty where nothing is refused.
        are_all: whether what is left compiles once they are mended.
    """

    found: tuple[Refusal, ...]
    are_all: bool


def find_refusals(
    schema: Any,  # noqa: ANN401 - any JSON
    first: GrammarError,
    refuse: Callable[[str], GrammarError | None],
) -> Refusals:
    """Find every refusal of a schema.

    The compiler tells one at a time. So what it refused is left out and the rest compiled again,
    until nothing is refused or the refusal is at no keyword that could be left out.

    Args:
        schema: parsed JSON.
        first: what the compiler said of it.
        refuse: compiles the text of a schema; the refusal, or None.

    Raises:
        GrammarError: one of the errors is no refusal of the spec.
    """
    rest = copy.deepcopy(schema)
    found = [Refusal.of(first)]
    while len(found) < _MAX_REFUSALS and _leave_out(rest, found[-1]):
        error = refuse(json.dumps(rest, ensure_ascii=False))
        if error is None:
            return Refusals(tuple(found), are_all=True)
        found.append(Refusal.of(error))
    return Refusals(tuple(found), are_all=False)


def _leave_out(schema: Any, refusal: Refusal) -> bool:  # noqa: ANN401
    """Delete the refused keyword; False where there is none to delete."""
    if refusal.kind is RefusalKind.UNSATISFIABLE or refusal.pointer is None:
        return False
    place = find_at(schema, refusal.pointer)
    if place is None or not isinstance(place[0], dict) or refusal.keyword not in place[0]:
        return False
    del place[0][refusal.keyword]
    return True
