"""Refusals of structures whose parts run into each other."""

from __future__ import annotations

from grammars.errors import UnsupportedError


def ambiguous_parts() -> UnsupportedError:
    """Parts begin alike, or one may go on as the next begins."""
    return UnsupportedError(
        "parts of the structure cannot be told apart as they are written; put a tag between them",
        keyword="Structure",
    )


def unclear_end() -> UnsupportedError:
    """What follows a grammar may be a part of it."""
    return UnsupportedError(
        "what follows a grammar may begin like a character of it, so its end would not be plain; "
        "put a tag between them that begins with a character the grammar never writes",
        keyword="Structure",
    )
