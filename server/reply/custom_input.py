"""CustomInput: the text of a custom tool's input, from the JSON `{"input": "..."}` around it."""

from __future__ import annotations

import json
import re
from typing import Final

_BEGIN: Final = re.compile(r'\s*\{\s*"input"\s*:\s*"')
_SPECIAL: Final = re.compile(r'["\\]')
_HIGH: Final = r"u[dD][89abAB][0-9a-fA-F]{2}"
_LOW: Final = r"u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE: Final = re.compile(rf"\\(?:{_HIGH}\\{_LOW}|u[0-9a-fA-F]{{4}}|[^u])")
_MAX_ESCAPE_CHARS: Final = 12


class CustomInput:
    """Decodes the string of one custom call, piece by piece (RFC 8259, section 7).

    Halves of surrogate pairs become U+FFFD; escapes that JSON does not have stay as they are.
    """

    def __init__(self) -> None:
        self._held = ""
        self._is_inside = False
        self._is_over = False

    def feed(self, text: str) -> str:
        """The input's text that more of the arguments brings."""
        if self._is_over:
            return ""
        self._held += text
        if not self._is_inside:
            begin = _BEGIN.match(self._held)
            if begin is None:
                return ""
            self._is_inside = True
            self._held = self._held[begin.end() :]
        pieces, position = [], 0
        while (special := _SPECIAL.search(self._held, position)) is not None:
            pieces.append(self._held[position : special.start()])
            position = special.start()
            if special[0] == '"':
                self._is_over = True
                return "".join(pieces)
            escape = self._escape(position)
            if escape is None:
                break
            pieces.append(_decoded(escape))
            position += len(escape)
        else:
            pieces.append(self._held[position:])
            position = len(self._held)
        self._held = self._held[position:]
        return "".join(pieces)

    def _escape(self, start: int) -> str | None:
        """The escape at a backslash; None while more of it may come."""
        has_all = len(self._held) - start >= _MAX_ESCAPE_CHARS or '"' in self._held[start + 2 :]
        found = _ESCAPE.match(self._held, start)
        if found is None:
            return self._held[start : start + 1] if has_all else None
        is_half = re.fullmatch(rf"\\{_HIGH}", found[0]) is not None
        return None if is_half and not has_all else found[0]


def _decoded(escape: str) -> str:
    try:
        text: str = json.loads(f'"{escape}"')
    except ValueError:
        return escape
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
