"""Tools and tool choices of the Responses API: those of chat, in a flat form."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from typing import Literal as OneOf

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from server.wire.base import Items, WireModel
from server.wire.tools import (
    AllowedTools,
    AllowedToolsChoice,
    CustomDefinition,
    CustomTool,
    FunctionDefinition,
    FunctionTool,
    GrammarInput,
    InputGrammar,
    NamedCustomChoice,
    NamedToolChoice,
    TextInput,
    Tool,
    ToolChoice,
    ToolName,
)


class FlatFunctionTool(WireModel):
    """A function with JSON arguments; see `FunctionDefinition`."""

    type: OneOf["function"]
    name: str
    description: str | None = None
    parameters: object = None
    strict: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _check_flat(cls, value: object) -> object:
        """Refuse tools as chat completions declare them, with a better word than a missing name."""
        if isinstance(value, dict) and "function" in value and "name" not in value:
            raise PydanticCustomError(
                "flat_tool", "in this API the members of a function stand beside its type"
            )
        return value


class FlatGrammarInput(WireModel):
    """Input of a custom tool: texts of a grammar."""

    type: OneOf["grammar"]
    syntax: OneOf["regex", "lark"]
    definition: str


class FlatCustomTool(WireModel):
    """A tool whose input is a text."""

    type: OneOf["custom"]
    name: str
    description: str | None = None
    format: Annotated[TextInput | FlatGrammarInput, Field(discriminator="type")] | None = None


FlatTool: TypeAlias = Annotated[FlatFunctionTool | FlatCustomTool, Field(discriminator="type")]


class FlatNamedChoice(WireModel):
    """Exactly this tool must be called."""

    type: OneOf["function", "custom"]
    name: str


class FlatAllowedChoice(WireModel):
    """The model may use these tools only."""

    type: OneOf["allowed_tools"]
    mode: OneOf["auto", "required"]
    tools: Items[FlatNamedChoice]


FlatToolChoice: TypeAlias = (
    OneOf["none", "auto", "required"]
    | Annotated[FlatNamedChoice | FlatAllowedChoice, Field(discriminator="type")]
)


def chat_tool(tool: FlatTool) -> Tool:
    """The same tool as chat completions declare it."""
    if isinstance(tool, FlatFunctionTool):
        function = FunctionDefinition(
            name=tool.name,
            description=tool.description,
            parameters=tool.parameters,
            strict=tool.strict,
        )
        return FunctionTool(type="function", function=function)
    text_format = tool.format
    if isinstance(text_format, FlatGrammarInput):
        grammar = InputGrammar(syntax=text_format.syntax, definition=text_format.definition)
        chat_format: TextInput | GrammarInput | None = GrammarInput(type="grammar", grammar=grammar)
    else:
        chat_format = text_format
    custom = CustomDefinition(name=tool.name, description=tool.description, format=chat_format)
    return CustomTool(type="custom", custom=custom)


def chat_tool_choice(choice: FlatToolChoice | None) -> ToolChoice | None:
    """The same choice as chat completions have it."""
    if isinstance(choice, FlatNamedChoice):
        return _named(choice)
    if isinstance(choice, FlatAllowedChoice):
        allowed = AllowedTools(mode=choice.mode, tools=[_named(tool) for tool in choice.tools])
        return AllowedToolsChoice(type="allowed_tools", allowed_tools=allowed)
    return choice


def _named(choice: FlatNamedChoice) -> NamedToolChoice | NamedCustomChoice:
    if choice.type == "function":
        return NamedToolChoice(type="function", function=ToolName(name=choice.name))
    return NamedCustomChoice(type="custom", custom=ToolName(name=choice.name))
