"""CallArguments: one call's arguments as clients get them, from the form that the model writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.calls.parameters import parameter_forms
from server.calls.syntax import ArgumentForm
from server.calls.tool import ToolKind
from server.reply.custom_input import CustomInput
from server.reply.json_span import JsonSpan
from server.reply.parameter_reader import ParameterReader

if TYPE_CHECKING:
    from server.calls.tool import CallableTool


class CallArguments:
    """Reads the arguments of one call.

    JSON is told verbatim, blocks of parameters as the JSON object that they stand for, and of a
    custom tool the text of its input.

    Args:
        form: how the model writes them.
        tool: the tool that is called.

    Attributes:
        is_done: whether they are whole.
    """

    def __init__(self, form: ArgumentForm, tool: CallableTool) -> None:
        self._span = JsonSpan()
        self._parameters: ParameterReader | None = None
        if form is ArgumentForm.PARAMETERS:
            self._parameters = ParameterReader(parameter_forms(tool))
        self._custom = CustomInput() if tool.kind is ToolKind.CUSTOM else None
        self.is_done = False

    def feed(self, text: str) -> tuple[str, str]:
        """What more text tells, and the text that is left behind the arguments."""
        if self._parameters is not None:
            told, rest = self._parameters.feed(text)
            self.is_done = self._parameters.is_done
        else:
            end = self._span.find_end(text)
            self.is_done = end is not None
            told, rest = text[:end], "" if end is None else text[end:]
        return (told if self._custom is None else self._custom.feed(told)), rest
