"""What a request binds the text of its answer to, as a grammar spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from grammars.spec import Cfg, Choice, JsonObject, JsonSchema, Regex, Structure
from server.json_guard import MAX_DEPTH, NotJsonError, parse_json
from server.request_errors import (
    InvalidResponseFormatError,
    InvalidValueError,
    UnsupportedValueError,
    without_root,
)
from server.structural_tag import grammar_of, structural_tag
from server.tag_limits import check_num_tags
from server.wire.formats import (
    GrammarFormat,
    JsonObjectFormat,
    JsonSchemaFormat,
    RegexFormat,
    StructuralTagFormat,
    TextFormat,
)

if TYPE_CHECKING:
    from server.wire.chat_request import ChatCompletionRequest
    from server.wire.formats import ResponseFormat, StructuredOutputs

DocumentSpec: TypeAlias = JsonSchema | JsonObject | Regex | Choice | Cfg | Structure


@dataclass(frozen=True, slots=True)
class Document:
    """A constraint on the text of the answer.

    Args:
        spec: the texts that are allowed.
        param: the request field that it came from, for errors.
        name: what the caller calls it, if it has a name.
    """

    spec: DocumentSpec
    param: str
    name: str | None = None

    def refusal(self, reason: str) -> InvalidResponseFormatError:
        """The error for a spec that the grammars room refused with this message."""
        match self.spec:
            case JsonSchema():
                return InvalidResponseFormatError(self.param, reason, name=self.name)
            case Regex():
                kind = "pattern"
            case Cfg():
                kind = "grammar"
            case JsonObject() | Choice() | Structure():
                kind = "constraint"
            case _:
                assert_never(self.spec)
        return InvalidResponseFormatError(self.param, without_root(reason), kind=kind)


def requested_document(
    request: ChatCompletionRequest,
    *,
    max_choices: int,
    max_tags: int,
    max_json_depth: int = MAX_DEPTH,
) -> Document | None:
    """The constraint of the request, of which there is one at most; None: the text is free.

    Args:
        request: the typed body, in which one constraint is set at most.
        max_choices: options of a `choice`.
        max_tags: items of all lists of a structural tag.
        max_json_depth: nesting of a constraint that is given as JSON text.

    Raises:
        RequestError: a constraint that is empty, or that we cannot enforce.
    """
    if request.structured_outputs is not None:
        outputs = request.structured_outputs
        return _structured_document(outputs, max_choices, max_tags, max_json_depth)
    if request.guided_json is not None:
        return _json_document(request.guided_json, "guided_json", max_json_depth)
    if request.guided_regex is not None:
        return Document(Regex(request.guided_regex), "guided_regex")
    if request.guided_choice is not None:
        return _choice_document(request.guided_choice, "guided_choice", max_choices)
    if request.guided_grammar is not None:
        return Document(grammar_of(request.guided_grammar), "guided_grammar")
    if request.grammar is not None:
        return Document(Cfg("gbnf", request.grammar), "grammar")
    if request.json_schema is not None:
        return Document(JsonSchema.from_value(request.json_schema), "json_schema")
    return _format_document(request.response_format, max_tags)


def _format_document(response_format: ResponseFormat | None, max_tags: int) -> Document | None:
    match response_format:
        case None | TextFormat():
            return None
        case JsonObjectFormat(schema_=None):
            return Document(JsonObject(), "response_format")
        case JsonObjectFormat(schema_=schema):
            return Document(JsonSchema.from_value(schema), "response_format")
        case JsonSchemaFormat():
            named = response_format.json_schema
            spec = JsonSchema.from_value(named.schema_)
            return Document(spec, "response_format", named.name)
        case RegexFormat():
            return Document(Regex(response_format.pattern), "response_format")
        case GrammarFormat():
            return Document(grammar_of(response_format.grammar), "response_format")
        case StructuralTagFormat():
            value = response_format.model_dump(exclude=set(response_format.model_extra or ()))
            return _tag_document(value, "response_format", max_tags)
        case _:
            assert_never(response_format)


def _structured_document(
    outputs: StructuredOutputs, max_choices: int, max_tags: int, max_json_depth: int
) -> Document:
    fields = ("json", "regex", "choice", "grammar", "structural_tag", "json_object")
    values = {
        name: value
        for name in fields
        if (value := getattr(outputs, "json_" if name == "json" else name)) is not None
    }
    if len(values) != 1:
        raise InvalidValueError(
            "structured_outputs",
            f"exactly one of {', '.join(fields)} is needed, got {list(values)}",
        )
    param = f"structured_outputs.{next(iter(values))}"
    if outputs.json_ is not None:
        return _json_document(outputs.json_, param, max_json_depth)
    if outputs.regex is not None:
        return Document(Regex(outputs.regex), param)
    if outputs.choice is not None:
        return _choice_document(outputs.choice, param, max_choices)
    if outputs.grammar is not None:
        return Document(grammar_of(outputs.grammar), param)
    if outputs.structural_tag is not None:
        value = _object(outputs.structural_tag, param, max_json_depth)
        return _tag_document(value, param, max_tags)
    if not outputs.json_object:
        raise UnsupportedValueError(param, "false asks for nothing; remove it")
    return Document(JsonObject(), param)


def _json_document(
    schema: dict[str, object] | bool | str, param: str, max_json_depth: int
) -> Document:
    """A schema that may also come as JSON text, as vLLM takes it."""
    if not isinstance(schema, str):
        return Document(JsonSchema.from_value(schema), param)
    value = _parsed(schema, param, max_json_depth)
    if not isinstance(value, dict | bool):
        raise InvalidValueError(param, "a JSON Schema is an object or a boolean")
    return Document(JsonSchema.from_value(value), param)


def _object(value: dict[str, object] | str, param: str, max_json_depth: int) -> dict[str, object]:
    """An object that may also come as JSON text."""
    parsed = _parsed(value, param, max_json_depth) if isinstance(value, str) else value
    if not isinstance(parsed, dict):
        raise InvalidValueError(param, "an object is needed")
    return parsed


def _parsed(text: str, param: str, max_json_depth: int) -> object:
    try:
        return parse_json(text, max_depth=max_json_depth)
    except NotJsonError as error:
        raise InvalidValueError(param, error.sentence("the text")) from error


def _tag_document(value: dict[str, object], param: str, max_tags: int) -> Document:
    check_num_tags(value, max_tags, param)
    return Document(structural_tag(value, param), param)


def _choice_document(options: list[str], param: str, max_choices: int) -> Document:
    if not options:
        raise InvalidValueError(param, "at least 1 option is needed")
    if len(options) > max_choices:
        raise InvalidValueError(
            param, f"at most max_choices={max_choices} are allowed, got {len(options)}"
        )
    return Document(Choice(tuple(options)), param)
