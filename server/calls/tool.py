"""CallableTool: one tool that an answer may call."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammars.spec import Cfg

CUSTOM_INPUT = "input"
"""The one argument of a custom tool: the model writes its free text as this JSON string."""


class ToolKind(Enum):
    """What the caller declared, and gets its calls as."""

    FUNCTION = "function"  # arguments are a JSON object
    CUSTOM = "custom"  # the input is a text


@dataclass(frozen=True, slots=True)
class CallableTool:
    """A tool, and what its arguments must be.

    Args:
        name: unique among the tools of a request.
        schema: JSON Schema of the arguments object; of a custom tool, of `{"input": "..."}`.
        description: what the model is told of it.
        kind: what the caller declared.
        input_grammar: of a custom tool: what its input may be, as content of a JSON string.
        param: path of the schema in the request, for errors.
    """

    name: str
    schema: Mapping[str, object]
    description: str | None = None
    kind: ToolKind = ToolKind.FUNCTION
    input_grammar: Cfg | None = None
    param: str = "tools"
