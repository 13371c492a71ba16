"""WireModel: the base of every request type; strict, and it keeps unknown fields apart."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, WrapValidator, model_validator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import ValidatorFunctionWrapHandler

_MEMBERS_AT_A_TIME: Final = 1_000

ValueT = TypeVar("ValueT")


def _some_at_a_time(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Validate an object until some members are wrong, and not all of them."""
    if not isinstance(value, dict):
        return validate(value)
    members = iter(value.items())
    validated: dict[object, object] = {}
    while some := dict(islice(members, _MEMBERS_AT_A_TIME)):
        validated |= validate(some)
    return validated


Items: TypeAlias = Annotated[list[ValueT], Field(fail_fast=True)]
"""An array of a body. The first wrong item ends it: each error costs 10 µs, of the event loop."""

Members: TypeAlias = Annotated[dict[str, ValueT], WrapValidator(_some_at_a_time)]
"""An object of a body whose keys are free. Some wrong members end it."""


class WireModel(BaseModel):
    """A part of a request body.

    Strict: no coercion (`true` is no int, `"2"` is no number). Unknown fields are kept apart in
    `model_extra`, so that `unknown_fields` can name them.
    """

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _let_others_run(cls, value: object) -> object:
        """Validation is one call of Rust, in which only a call of Python lets other threads run."""
        return value


def unknown_fields(model: WireModel, path: str = "") -> Iterator[str]:
    """The paths of all fields that no type declares, as `messages[2].extra`, in body order."""
    for name in model.model_extra or {}:
        yield f"{path}{name}"
    for name, field in type(model).model_fields.items():
        yield from _unknown_in(getattr(model, name), f"{path}{field.alias or name}")


def _unknown_in(value: object, path: str) -> Iterator[str]:
    if isinstance(value, WireModel):
        yield from unknown_fields(value, f"{path}.")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_in(item, f"{path}[{index}]")
