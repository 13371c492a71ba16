"""length_note: what the length limit has done to an answer, for the top of its body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.answer.bodies import Json


class Ended(Protocol):
    """The last step of a choice; see `ReplyStep`."""

    @property
    def was_closed(self) -> bool: ...
    @property
    def num_missing_tokens(self) -> int | None: ...


def length_note(ends: Mapping[int, Ended]) -> Json:
    """The field `tightrope` of a body, or of the chunk with the finish reason; often none.

    Args:
        ends: the choices that this body or chunk ends, by their index.
    """
    ordered = sorted(ends.items())
    closed = [index for index, end in ordered if end.was_closed]
    cut = [
        {"index": index, "missing_tokens": end.num_missing_tokens}
        for index, end in ordered
        if end.num_missing_tokens is not None
    ]
    note: Json = {"closed_choices": closed} if closed else {}
    note |= {"cut_choices": cut} if cut else {}
    return {"tightrope": note} if note else {}
