"""explain_os_error: errors of the system in words for the terminal."""

from __future__ import annotations


def explain_os_error(error: OSError) -> str:
    """What the system refused, and of which file where it says so."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}"
