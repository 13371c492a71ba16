r"""Arguments as blocks, one a parameter, the form of Qwen3-Coder; its grammar and its reading rule.

    <parameter=city>
    Paris
    </parameter>

Blocks come in the order of the schema; optional ones may be left out. What stands in a block:

| form     | schema                            | text, up to the first "\n</parameter>" |
|----------|-----------------------------------|----------------------------------------|
| TEXT     | a string without restrictions     | the string itself                      |
| NULLABLE | such a string, or null            | `null`, or the string itself           |
| OPTION   | `enum` or `const` of single lines | the string itself                      |
| JSON     | all else, restricted strings too  | a JSON value that is valid             |
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from grammars.spec import Choice, Embed, FreeText, JsonSchema, Literal, Part, Repeat, Sequence
from server.calls.tool import CUSTOM_INPUT
from server.request_errors import InvalidToolError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from server.calls.tool import CallableTool

PARAMETER_OPEN: Final = "<parameter="
PARAMETER_CLOSE: Final = "\n</parameter>"
FUNCTION_CLOSE: Final = "</function>"

_ANNOTATIONS: Final = frozenset(
    {"title", "description", "$comment", "default", "examples", "deprecated", "readOnly",
     "writeOnly"}
)  # fmt: skip
_ROOT_KEYWORDS: Final = _ANNOTATIONS | {
    "type", "properties", "required", "additionalProperties", "$schema", "$defs", "definitions",
}  # fmt: skip
_ROOT_TYPES: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "properties": ((dict,), "an object"),
    "required": ((list,), "an array"),
    "additionalProperties": ((dict, bool), "a schema"),
}
_DEFINITIONS: Final = ("$defs", "definitions")
_MAX_REFERENCES: Final = 32


class ParameterForm(Enum):
    """How the value of a parameter is written; see the module's docstring."""

    TEXT = "text"
    NULLABLE = "nullable"
    OPTION = "option"
    JSON = "json"


def parameters_part(tool: CallableTool) -> Part:
    """The blocks of a call's arguments.

    Raises:
        InvalidToolError: a keyword at the schema's root that blocks cannot be held to.
    """
    if tool.input_grammar is not None:
        begin = Literal(f'{PARAMETER_OPEN}{CUSTOM_INPUT}>\n"')
        end = Literal('"' + PARAMETER_CLOSE + "\n")
        return Sequence((begin, Embed(tool.input_grammar), end))
    root = _root(tool)
    required = _required(root)
    return Sequence(
        tuple(
            block if name in required else Repeat(block, maximum=1)
            for name, schema in _parameters(root)
            if schema is not False or name in required
            for block in (_block(tool, name, schema, root),)
        )
    )


def parameter_forms(tool: CallableTool) -> dict[str, ParameterForm]:
    """How each declared or required parameter is written."""
    if tool.input_grammar is not None:
        return {CUSTOM_INPUT: ParameterForm.JSON}
    root = _root(tool)
    return {name: _form(schema, root) for name, schema in _parameters(root)}


def _root(tool: CallableTool) -> Mapping[str, object]:
    """The schema of the object itself, checked."""
    root = dict(tool.schema)
    definitions: dict[str, object] = {name: root[name] for name in _DEFINITIONS if name in root}
    if "$ref" in root:
        others = {k: v for k, v in root.items() if k not in ("$ref", "type")}
        resolved = _resolved({"$ref": root["$ref"]}, root)
        if isinstance(resolved, dict):
            root = {**others, **resolved, **definitions}
    for keyword in root:
        if keyword not in _ROOT_KEYWORDS:
            raise InvalidToolError(
                tool.param,
                tool.name,
                f"/{keyword}: arguments of this model are written one block a parameter, which "
                f"{keyword!r} beside 'properties' cannot bind; remove it, or serve with "
                "--tool-format hermes",
            )
    for keyword, (kinds, wanted) in _ROOT_TYPES.items():
        if keyword in root and not isinstance(root[keyword], kinds):
            raise InvalidToolError(tool.param, tool.name, f"/{keyword}: {wanted} is needed")
    for name, _ in _parameters(root):
        if not name or any(character in name for character in "<>\n"):
            raise InvalidToolError(
                tool.param, tool.name, f"/properties: the name {name!r} cannot stand in a tag"
            )
    return root


def _required(root: Mapping[str, object]) -> list[str]:
    required = root.get("required")
    if not isinstance(required, list):
        return []
    return [name for name in required if isinstance(name, str)]


def _parameters(root: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Name and schema: the declared ones, then those that are required only."""
    properties = root.get("properties")
    declared = properties if isinstance(properties, dict) else {}
    yield from declared.items()
    for name in _required(root):
        if name not in declared:
            yield name, root.get("additionalProperties", True)


def _block(tool: CallableTool, name: str, schema: object, root: Mapping[str, object]) -> Part:
    begin = Literal(f"{PARAMETER_OPEN}{name}>\n")
    end = Literal(PARAMETER_CLOSE + "\n")
    match _form(schema, root):
        case ParameterForm.TEXT | ParameterForm.NULLABLE:
            return Sequence((begin, FreeText(end=PARAMETER_CLOSE), Literal("\n")))
        case ParameterForm.OPTION:
            return Sequence((begin, Embed(Choice(_options(_resolved(schema, root)))), end))
        case ParameterForm.JSON:
            return Sequence((begin, Embed(_value_schema(tool, name, schema, root)), end))


def _value_schema(
    tool: CallableTool, name: str, schema: object, root: Mapping[str, object]
) -> JsonSchema:
    """The schema of one parameter as a document of its own, with the definitions of the whole."""
    if not isinstance(schema, dict):
        return JsonSchema.from_value(schema)
    for reference in _references(schema):
        if not reference.startswith(("#/$defs/", "#/definitions/")):
            raise InvalidToolError(
                tool.param,
                tool.name,
                f"/properties/{name}: the reference {reference[:64]!r} leaves the parameter; "
                "refer to '#/$defs/...', or serve with --tool-format hermes",
            )
    definitions = {name: root[name] for name in _DEFINITIONS if name in root}
    return JsonSchema.from_value({**schema, **definitions})


def _references(schema: object) -> Iterator[str]:
    """The values of `$ref` where schemas stand; those in data of `enum` are none."""
    stack = [schema]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(reference := value.get("$ref"), str):
                yield reference
            stack += [inner for key, inner in value.items() if key not in ("enum", "const")]
        elif isinstance(value, list):
            stack += value


def _form(schema: object, root: Mapping[str, object]) -> ParameterForm:
    schema = _resolved(schema, root)
    if _is_free_string(schema):
        return ParameterForm.TEXT
    if _is_free_string_or_null(schema, root):
        return ParameterForm.NULLABLE
    options = _options(schema)
    if options and not any("\n" in option for option in options):  # it begins the closing tag
        return ParameterForm.OPTION
    return ParameterForm.JSON


def _resolved(schema: object, root: Mapping[str, object]) -> object:
    """The schema that a `$ref` with nothing but annotations beside it stands for."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(schema, dict) or _keywords(schema) != {"$ref"}:
            return schema
        target: object = root
        pointer = str(schema["$ref"]).removeprefix("#/")
        for step in pointer.split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, dict) or key not in target:
                return schema
            target = target[key]
        schema = target
    return schema


def _keywords(schema: Mapping[str, object]) -> set[str]:
    return schema.keys() - _ANNOTATIONS


def _is_free_string(schema: object) -> bool:
    return (
        isinstance(schema, dict)
        and _keywords(schema) == {"type"}
        and schema["type"] in ("string", ["string"])
    )


def _is_free_string_or_null(schema: object, root: Mapping[str, object]) -> bool:
    if not isinstance(schema, dict):
        return False
    keywords = _keywords(schema)
    if keywords == {"type"}:
        return schema["type"] in (["string", "null"], ["null", "string"])
    if keywords not in ({"anyOf"}, {"oneOf"}):
        return False
    branches = schema[keywords.pop()]
    if not isinstance(branches, list) or len(branches) != 2:
        return False
    branches = [_resolved(branch, root) for branch in branches]
    nulls = [isinstance(b, dict) and _keywords(b) == {"type"} and b["type"] == "null"
             for b in branches]  # fmt: skip
    return any(nulls) and any(map(_is_free_string, branches))


def _options(schema: object) -> tuple[str, ...]:
    """The strings of an `enum` or `const`; none if it is anything else."""
    if not isinstance(schema, dict) or schema.get("type", "string") != "string":
        return ()
    keywords = _keywords(schema) - {"type"}
    values: object = None
    if keywords == {"enum"}:
        values = schema["enum"]
    elif keywords == {"const"}:
        values = [schema["const"]]
    if not isinstance(values, list):
        return ()
    strings = tuple(dict.fromkeys(value for value in values if isinstance(value, str)))
    return strings if len(strings) == len(values) else ()
