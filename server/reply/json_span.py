"""JsonSpan: finds the end of a JSON object in text that comes in pieces."""

from __future__ import annotations


class JsonSpan:
    """Counts nesting outside strings, so braces and tags in strings are data.

    Starts in front of the object's opening brace. It does not judge the JSON inside: the grammar
    does that while the text is generated.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._after_backslash = False

    def find_end(self, text: str) -> int | None:
        """The index behind the object's last brace, None if it goes on after `text`."""
        for index, character in enumerate(text):
            if self._in_string:
                if self._after_backslash:
                    self._after_backslash = False
                elif character == "\\":
                    self._after_backslash = True
                elif character == '"':
                    self._in_string = False
            elif character == '"':
                self._in_string = True
            elif character in "{[":
                self._depth += 1
            elif character in "}]":
                self._depth -= 1
                if self._depth == 0:
                    return index + 1
        return None
