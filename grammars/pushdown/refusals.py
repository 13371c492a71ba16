"""Refusals of structures: parts that run into each other, or have no text."""

from __future__ import annotations

from grammars.errors import UnsatisfiableError, UnsupportedError


def ambiguous_parts() -> UnsupportedError:
    """Parts begin alike, or one may go on as the next begins."""
    return UnsupportedError(
        "parts of the structure cannot be told apart as they are written; put a tag between them",
        keyword="Structure",
    )


def no_match() -> UnsatisfiableError:
    """A pattern that no text matches."""
    return UnsatisfiableError("no text matches the pattern", keyword="Regex")


def no_end() -> UnsatisfiableError:
    """A text would come to where it cannot be ended."""
    return UnsatisfiableError("somewhere nothing can follow but characters that no token spells")


def unclear_end() -> UnsupportedError:
    """What follows a grammar may be a part of it."""
    return UnsupportedError(
        "what follows a grammar may begin like a character of it, so its end would not be plain; "
        "put a tag between them that begins with a character the grammar never writes",
        keyword="Structure",
    )
