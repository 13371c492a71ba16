"""The tools of a request as callable tools, whatever form a client declares them in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.spec import Cfg, Regex
from server.calls.tool import CUSTOM_INPUT, CallableTool, ToolKind
from server.request_errors import InvalidToolError
from server.wire.tools import CustomTool, FunctionTool, GrammarInput

if TYPE_CHECKING:
    from server.wire.chat_request import ChatCompletionRequest
    from server.wire.tools import CustomDefinition, FunctionDefinition

_NO_ARGUMENTS: Final[dict[str, object]] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}
_ANNOTATIONS: Final = frozenset(
    {"type", "properties", "required", "title", "description", "$schema", "examples", "default"}
)


def declared_tools(request: ChatCompletionRequest) -> tuple[CallableTool, ...]:
    """The tools of a request in its order; the older `functions` are tools too.

    Raises:
        InvalidToolError: parameters that cannot be those of an object.
    """
    if request.functions is not None:
        return tuple(
            _function_tool(function, f"functions[{index}].parameters")
            for index, function in enumerate(request.functions)
        )
    tools = []
    for index, tool in enumerate(request.tools or []):
        match tool:
            case FunctionTool():
                param = f"tools[{index}].function.parameters"
                tools.append(_function_tool(tool.function, param))
            case CustomTool():
                tools.append(_custom_tool(tool.custom, f"tools[{index}].custom.format"))
    return tuple(tools)


def _function_tool(function: FunctionDefinition, param: str) -> CallableTool:
    schema = argument_schema(function, param)
    return CallableTool(
        function.name,
        schema,
        function.description,
        param=param,
        is_strict=bool(function.strict),
    )


def _custom_tool(tool: CustomDefinition, param: str) -> CallableTool:
    """A custom tool: its input is the one string argument of a function."""
    text: dict[str, object] = {"type": "string"}
    input_grammar, input_pattern = None, None
    if isinstance(tool.format, GrammarInput):
        grammar = tool.format.grammar
        if grammar.syntax == "lark":
            input_grammar = Cfg("lark", grammar.definition, in_json_string=True)
        else:
            input_pattern = Regex(grammar.definition)
            text["pattern"] = f"^(?:{grammar.definition})$"
    schema = {**_NO_ARGUMENTS, "properties": {CUSTOM_INPUT: text}, "required": [CUSTOM_INPUT]}
    return CallableTool(
        tool.name,
        schema,
        tool.description,
        ToolKind.CUSTOM,
        input_grammar,
        input_pattern,
        param,
    )


def argument_schema(function: FunctionDefinition, param: str) -> dict[str, object]:
    """The schema that the arguments must follow: always of an object, key order kept.

    Missing, null and empty parameters, and an object without properties that says no more, take
    `{}` alone. A list of `{name, type, description, required}` is read as properties.

    Args:
        function: the tool's function.
        param: the path of its parameters, for the error.

    Raises:
        InvalidToolError: the parameters cannot be those of an object.
    """
    parameters = function.parameters
    if isinstance(parameters, list):
        parameters = _schema_of_list(parameters, function.name, param)
    if parameters is None:
        return _NO_ARGUMENTS
    if not isinstance(parameters, dict):
        raise InvalidToolError(param, function.name, "(root): a JSON Schema of an object is needed")
    kind = parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise InvalidToolError(
            param,
            function.name,
            f"/type: arguments are an object, so it must be 'object', not {kind!r}",
        )
    if not parameters.get("properties") and parameters.keys() <= _ANNOTATIONS:
        return {**parameters, **_NO_ARGUMENTS} if not parameters.get("required") else parameters
    return {**parameters, "type": "object"}


def _schema_of_list(parameters: list[object], name: str, param: str) -> dict[str, object]:
    if not parameters:
        raise InvalidToolError(param, name, "(root): an empty list is no schema; leave it out")
    properties: dict[str, object] = {}
    required: list[str] = []
    for place, parameter in enumerate(parameters):
        if not isinstance(parameter, dict) or not isinstance(parameter.get("name"), str):
            raise InvalidToolError(param, name, f"/{place}: a parameter in a list needs a name")
        key = parameter["name"]
        if key in properties:
            raise InvalidToolError(param, name, f"/{place}: two parameters are named {key!r}")
        properties[key] = {k: v for k, v in parameter.items() if k not in ("name", "required")}
        if parameter.get("required") is True:
            required.append(key)
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
