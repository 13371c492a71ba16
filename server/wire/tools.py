"""Tools and tool choices of a request."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import Items, WireModel


class FunctionDefinition(WireModel):
    """A function that the model may call.

    `parameters` is a JSON Schema; missing, null and empty mean: no arguments. Some clients send a
    list of `{name, type, description, required}` instead, see `server.tool_schema`. Arguments are
    bound to their schema whatever `strict` says.
    """

    name: str
    description: str | None = None
    parameters: object = None
    strict: bool | None = None


class FunctionTool(WireModel):
    """A function with JSON arguments."""

    type: OneOf["function"]
    function: FunctionDefinition


class TextInput(WireModel):
    """Input of a custom tool: any text."""

    type: OneOf["text"]


class InputGrammar(WireModel):
    """A grammar in one of two languages."""

    syntax: OneOf["regex", "lark"]
    definition: str


class GrammarInput(WireModel):
    """Input of a custom tool: texts of a grammar."""

    type: OneOf["grammar"]
    grammar: InputGrammar


class CustomDefinition(WireModel):
    """A tool whose input is a text; any text where no format is given."""

    name: str
    description: str | None = None
    format: Annotated[TextInput | GrammarInput, Field(discriminator="type")] | None = None


class CustomTool(WireModel):
    """A tool whose input is a text."""

    type: OneOf["custom"]
    custom: CustomDefinition


Tool: TypeAlias = Annotated[FunctionTool | CustomTool, Field(discriminator="type")]


class ToolName(WireModel):
    """The name of one of the tools."""

    name: str


class NamedToolChoice(WireModel):
    """Exactly this function must be called."""

    type: OneOf["function"]
    function: ToolName


class NamedCustomChoice(WireModel):
    """Exactly this custom tool must be called."""

    type: OneOf["custom"]
    custom: ToolName


AllowedTool: TypeAlias = Annotated[NamedToolChoice | NamedCustomChoice, Field(discriminator="type")]


class AllowedTools(WireModel):
    """A subset of the tools, and whether one of them must be called."""

    mode: OneOf["auto", "required"]
    tools: Items[AllowedTool]


class AllowedToolsChoice(WireModel):
    """The model may use these tools only."""

    type: OneOf["allowed_tools"]
    allowed_tools: AllowedTools


ToolChoice: TypeAlias = (
    OneOf["none", "auto", "required"]
    | Annotated[
        NamedToolChoice | NamedCustomChoice | AllowedToolsChoice, Field(discriminator="type")
    ]
)
FunctionChoice: TypeAlias = OneOf["none", "auto"] | ToolName
"""The older `function_call`."""


def name_of(choice: NamedToolChoice | NamedCustomChoice) -> str:
    """The name of the tool that is chosen."""
    return choice.function.name if isinstance(choice, NamedToolChoice) else choice.custom.name
