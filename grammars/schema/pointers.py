"""JSON Pointers (RFC 6901): spelling tokens, and finding what stands at a place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grammars.schema.document import Json


def escape(token: str) -> str:
    """One reference token of a JSON Pointer (RFC 6901, section 3)."""
    return token.replace("~", "~0").replace("/", "~1")


def find_at(node: Json, pointer: str) -> tuple[Json] | None:
    """What stands at a pointer from `node`, in a tuple of one; None where nothing does."""
    for token in pointer.split("/")[1:]:
        found = _child(node, token.replace("~1", "/").replace("~0", "~"))
        if found is None:
            return None
        node = found[0]
    return (node,)


def _child(node: Json, token: str) -> tuple[Json] | None:
    match node:
        case dict():
            return (node[token],) if token in node else None
        case list() if token.isdecimal() and int(token) < len(node):
            return (node[int(token)],)
        case _:
            return None
