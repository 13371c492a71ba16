"""What a request binds the text of its answer to, as a grammar spec."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, assert_never

from grammars.spec import Choice, JsonObject, JsonSchema, Regex
from server.errors import InvalidResponseFormatError, InvalidValueError, UnsupportedValueError
from server.wire.formats import JsonObjectFormat, JsonSchemaFormat, TextFormat

if TYPE_CHECKING:
    from server.wire.chat_request import ChatCompletionRequest
    from server.wire.formats import ResponseFormat, StructuredOutputs

DocumentSpec: TypeAlias = JsonSchema | JsonObject | Regex | Choice


@dataclass(frozen=True, slots=True)
class Document:
    """A constraint on the text of the answer.

    Args:
        spec: the texts that are allowed.
        param: the request field that it came from, for errors.
    """

    spec: DocumentSpec
    param: str

    def refusal(self, reason: str) -> InvalidResponseFormatError:
        """The error for a spec that the grammars room refused with this message."""
        match self.spec:
            case JsonSchema():
                return InvalidResponseFormatError(self.param, reason)
            case Regex():  # a pattern has no places of a document in it
                reason = reason.removeprefix("(root): ")
                return InvalidResponseFormatError(self.param, reason, kind="pattern")
            case JsonObject() | Choice():
                return InvalidResponseFormatError(self.param, reason, kind="constraint")
            case _:
                assert_never(self.spec)


def requested_document(request: ChatCompletionRequest, *, max_choices: int) -> Document | None:
    """The constraint of the request; None: the text is free.

    Raises:
        InvalidValueError: a constraint that is empty, or two at once.
    """
    if request.structured_outputs is not None:
        return _structured_document(request.structured_outputs, max_choices)
    if request.guided_json is not None:
        return _json_document(request.guided_json, "guided_json")
    if request.guided_regex is not None:
        return Document(Regex(request.guided_regex), "guided_regex")
    if request.guided_choice is not None:
        return _choice_document(request.guided_choice, "guided_choice", max_choices)
    return _format_document(request.response_format)


def _format_document(response_format: ResponseFormat | None) -> Document | None:
    match response_format:
        case None | TextFormat():
            return None
        case JsonObjectFormat():
            return Document(JsonObject(), "response_format")
        case JsonSchemaFormat():
            schema = response_format.json_schema.schema_
            return Document(JsonSchema.from_value(schema), "response_format")
        case _:
            assert_never(response_format)


def _structured_document(outputs: StructuredOutputs, max_choices: int) -> Document:
    given = [
        name
        for name in ("json", "regex", "choice", "json_object")
        if getattr(outputs, "json_" if name == "json" else name) is not None
    ]
    if len(given) != 1:
        raise InvalidValueError(
            "structured_outputs",
            f"exactly one of json, regex, choice and json_object is needed, got {given}",
        )
    if outputs.json_ is not None:
        return _json_document(outputs.json_, "structured_outputs.json")
    if outputs.regex is not None:
        return Document(Regex(outputs.regex), "structured_outputs.regex")
    if outputs.choice is not None:
        return _choice_document(outputs.choice, "structured_outputs.choice", max_choices)
    if not outputs.json_object:
        raise UnsupportedValueError(
            "structured_outputs.json_object", "false asks for nothing; remove it"
        )
    return Document(JsonObject(), "structured_outputs.json_object")


def _json_document(schema: dict[str, object] | bool | str, param: str) -> Document:
    """A schema that may also come as JSON text, as vLLM takes it."""
    if not isinstance(schema, str):
        return Document(JsonSchema.from_value(schema), param)
    try:
        value = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(param, "the text is not the JSON of a schema") from error
    if not isinstance(value, dict | bool):
        raise InvalidValueError(param, "a JSON Schema is an object or a boolean")
    return Document(JsonSchema.from_value(value), param)


def _choice_document(options: list[str], param: str, max_choices: int) -> Document:
    if not options:
        raise InvalidValueError(param, "at least 1 option is needed")
    if len(options) > max_choices:
        raise InvalidValueError(param, f"at most {max_choices} are allowed, got {len(options)}")
    return Document(Choice(tuple(options)), param)
