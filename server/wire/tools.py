"""Tools and tool choices of a request."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import WireModel


class FunctionDefinition(WireModel):
    """A function that the model may call.

    `parameters` is a JSON Schema; missing, null and empty mean: no arguments. Some clients send a
    list of `{name, type, description, required}` instead, see `server.tool_schema`.
    """

    name: str
    description: str | None = None
    parameters: object = None
    strict: bool | None = None


class Tool(WireModel):
    """A tool; only functions are supported."""

    type: OneOf["function"]
    function: FunctionDefinition


class FunctionName(WireModel):
    """The name of a function among the tools."""

    name: str


class NamedToolChoice(WireModel):
    """Exactly this function must be called."""

    type: OneOf["function"]
    function: FunctionName


class AllowedTools(WireModel):
    """A subset of the tools, and whether one of them must be called."""

    mode: OneOf["auto", "required"]
    tools: list[NamedToolChoice]


class AllowedToolsChoice(WireModel):
    """The model may use these tools only."""

    type: OneOf["allowed_tools"]
    allowed_tools: AllowedTools


ToolChoice: TypeAlias = (
    OneOf["none", "auto", "required"]
    | Annotated[NamedToolChoice | AllowedToolsChoice, Field(discriminator="type")]
)
