"""DecisionsRequest: the body of POST /v1/decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, TypeAlias
from typing import Literal as OneOf

from pydantic import Field, field_validator

from server.request_errors import InvalidValueError
from server.wire.base import Items, WireModel
from server.wire.parsing import parse_request
from server.wire.responses.items import (
    CustomCallItem,
    CustomOutputItem,
    FunctionCallItem,
    FunctionOutputItem,
    ItemText,
    MessageItem,
    with_types,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REFUSED_FIELDS: Final = {
    "stream": "probabilities come at once; remove it",
    "messages": "use input",
    "temperature": "probabilities are the model's own; remove it",
}
_WITHOUT_EFFECT: Final = ("prompt_cache_key", "prompt_cache_options", "safety_identifier")

Evidence: TypeAlias = Annotated[
    MessageItem | FunctionCallItem | FunctionOutputItem | CustomCallItem | CustomOutputItem,
    Field(discriminator="type"),
]


class PredicateQuestion(WireModel):
    """How likely is it that a statement about the input is true?"""

    type: OneOf["predicate"]
    instructions: ItemText
    name: str | None = None


class Option(WireModel):
    """One of the answers; a string and a boolean of the same text are different ones."""

    value: str | bool
    description: str | None = None


class ChoiceQuestion(WireModel):
    """Which of the answers is right?"""

    type: OneOf["choice"]
    instructions: ItemText
    choices: Annotated[Items[Option], Field(min_length=2, max_length=255)]
    name: str | None = None


class Level(WireModel):
    """One step of a scale; its value is its index."""

    label: str
    description: str | None = None


class ScoreQuestion(WireModel):
    """Where does the input stand on a scale of ordered levels?"""

    type: OneOf["score"]
    instructions: ItemText
    levels: Annotated[Items[Level], Field(min_length=2, max_length=255)]
    name: str | None = None


Question: TypeAlias = PredicateQuestion | ChoiceQuestion | ScoreQuestion


class DecisionsRequest(WireModel):
    """Questions about one input, each with a closed list of answers."""

    model: str
    input: str | Items[Evidence]
    questions: Annotated[
        Items[Annotated[Question, Field(discriminator="type")]], Field(min_length=1, max_length=400)
    ]
    prompt_cache_key: str | None = None
    prompt_cache_options: dict[str, object] | None = None
    safety_identifier: str | None = None

    @field_validator("input", mode="before")
    @classmethod
    def _name_messages(cls, value: object) -> object:
        """Give messages the type that clients leave out."""
        return with_types(value)


def parse_decisions_request(
    body: Mapping[str, object], *, strict_params: bool
) -> tuple[DecisionsRequest, tuple[str, ...], tuple[str, ...]]:
    """Type a parsed body.

    Returns:
        The request, the names of what has no effect, and those that no type declares.

    Raises:
        RequestError: a field is refused, missing, or has a wrong value; `param` is its path.
    """
    request, unknown = parse_request(
        DecisionsRequest, body, REFUSED_FIELDS, strict_params=strict_params
    )
    for param, answers in _answers(request):
        if len(set(answers)) < len(answers):
            raise InvalidValueError(param, "two answers are the same; each must be given once")
    ignored = tuple(name for name in _WITHOUT_EFFECT if getattr(request, name) is not None)
    return request, ignored, unknown


def _answers(request: DecisionsRequest) -> Iterator[tuple[str, list[object]]]:
    for index, question in enumerate(request.questions):
        if isinstance(question, ChoiceQuestion):
            values: list[object] = [
                (type(option.value), option.value) for option in question.choices
            ]
            yield f"questions[{index}].choices", values
        elif isinstance(question, ScoreQuestion):
            yield f"questions[{index}].levels", [level.label for level in question.levels]
