r"""ParameterReader: arguments in blocks, one a parameter, to the pieces of one JSON object.

    <parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>

becomes `{"city": "Paris", "days": 3}`. `server.calls.parameters` tells what a block holds. Text
between blocks is dropped, and a parameter that the tool does not declare is a string.
"""

from __future__ import annotations

import json
from enum import Enum, auto
from typing import TYPE_CHECKING

from server.calls.parameters import (
    FUNCTION_CLOSE,
    PARAMETER_CLOSE,
    PARAMETER_OPEN,
    ParameterForm,
)
from server.reply.tags import find_tag, num_held_back

if TYPE_CHECKING:
    from collections.abc import Mapping

_NULL = "null"


class _Place(Enum):
    BETWEEN = auto()  # in front of a block, or of the end
    NAME = auto()
    FIRST = auto()  # behind the ">" of a name: a newline belongs to the tag
    VALUE = auto()


class ParameterReader:
    """Reads the arguments of one call, in linear time whatever the cuts.

    Args:
        forms: how each parameter's value is written.

    Attributes:
        is_done: whether `</function>` was read.
    """

    def __init__(self, forms: Mapping[str, ParameterForm]) -> None:
        self._forms = forms
        self._place = _Place.BETWEEN
        self._held = ""
        self._name = ""
        self._num_parameters = 0
        self._maybe_null: str | None = ""  # the value so far, while it may become `null`
        self._has_begun = False
        self.is_done = False

    def feed(self, text: str) -> tuple[str, str]:
        """The JSON that more text brings, and the text that is left behind the end."""
        text = self._held + text
        self._held = ""
        pieces = [] if self._has_begun else ["{"]
        self._has_begun = True
        position = 0
        while position < len(text) and not self.is_done:
            piece, position = self._take(text, position)
            pieces.append(piece)
        return "".join(pieces), text[position:]

    def _take(self, text: str, start: int) -> tuple[str, int]:
        """The JSON that some of the text brings, and the index of what is left."""
        match self._place:
            case _Place.BETWEEN:
                return self._take_between(text, start)
            case _Place.NAME:
                return self._take_name(text, start)
            case _Place.FIRST:
                self._place = _Place.VALUE
                return self._value_begin(), start + (text[start] == "\n")
            case _Place.VALUE:
                return self._take_value(text, start)

    def _take_between(self, text: str, start: int) -> tuple[str, int]:
        tags = (PARAMETER_OPEN, FUNCTION_CLOSE)
        found = find_tag(text, tags, start)
        if found is None:
            self._hold(text, num_held_back(text, start, tags))
            return "", len(text)
        index, tag = found
        if tag == FUNCTION_CLOSE:
            self.is_done = True
            return "}", index + len(tag)
        self._place, self._name = _Place.NAME, ""
        return "", index + len(tag)

    def _take_name(self, text: str, start: int) -> tuple[str, int]:
        end = text.find(">", start)
        if end < 0:
            self._name += text[start:]
            return "", len(text)
        self._name += text[start:end]
        self._place = _Place.FIRST
        comma = ", " if self._num_parameters else ""
        self._num_parameters += 1
        return f"{comma}{_json(self._name)}: ", end + 1

    def _form(self) -> ParameterForm:
        return self._forms.get(self._name, ParameterForm.TEXT)

    def _value_begin(self) -> str:
        self._maybe_null = ""
        return '"' if self._form() in (ParameterForm.TEXT, ParameterForm.OPTION) else ""

    def _take_value(self, text: str, start: int) -> tuple[str, int]:
        end = text.find(PARAMETER_CLOSE, start)
        if end < 0:
            kept = num_held_back(text, start, (PARAMETER_CLOSE,))
            self._hold(text, kept)
            return self._value_piece(text[start : len(text) - kept]), len(text)
        self._place = _Place.BETWEEN
        piece = self._value_piece(text[start:end]) + self._value_end()
        return piece, end + len(PARAMETER_CLOSE)

    def _value_piece(self, text: str) -> str:
        form = self._form()
        if form is ParameterForm.JSON:
            return text
        if form is not ParameterForm.NULLABLE:
            return _json(text)[1:-1]
        if self._maybe_null is None:
            return _json(text)[1:-1]
        self._maybe_null += text
        if _NULL.startswith(self._maybe_null):
            return ""
        text, self._maybe_null = self._maybe_null, None
        return _json(text)[:-1]

    def _value_end(self) -> str:
        form = self._form()
        if form is ParameterForm.JSON:
            return ""
        if form is ParameterForm.NULLABLE and self._maybe_null is not None:
            return _NULL if self._maybe_null == _NULL else _json(self._maybe_null)
        return '"'

    def _hold(self, text: str, count: int) -> None:
        self._held = text[len(text) - count :]


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
