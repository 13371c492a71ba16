"""parse_request: a parsed JSON body as the typed request of an endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from server.request_errors import UnknownParameterError, UnsupportedParameterError
from server.wire.base import WireModel, unknown_fields
from server.wire.validation import request_error

if TYPE_CHECKING:
    from collections.abc import Mapping

RequestT = TypeVar("RequestT", bound=WireModel)


def parse_request(
    kind: type[RequestT],
    body: Mapping[str, object],
    refused: Mapping[str, str],
    *,
    strict_params: bool,
) -> tuple[RequestT, tuple[str, ...]]:
    """Type a body.

    Args:
        kind: the endpoint's request.
        body: the JSON object.
        refused: fields that are refused by name, each with the way out; null, false, an empty
            text and an empty list ask for nothing.
        strict_params: refuse unknown fields.

    Returns:
        The request, and the paths of the fields that no type declares.

    Raises:
        UnsupportedParameterError: one of `refused` is set.
        UnknownParameterError: an unknown field, with `strict_params`.
        RequestError: a field is missing or has a wrong value; `param` is its path.
    """
    for name, way_out in refused.items():
        if name in body and not _asks_for_nothing(body[name]):
            raise UnsupportedParameterError(name, way_out)
    given = {name: value for name, value in body.items() if name not in refused}
    try:
        request = kind.model_validate(given)
    except ValidationError as error:
        raise request_error(error, given) from error
    unknown = tuple(unknown_fields(request))
    if unknown and strict_params:
        raise UnknownParameterError(unknown[0])
    return request, unknown


def _asks_for_nothing(value: object) -> bool:
    """Whether a client only spells out that it does not use a field; 0 and {} are values."""
    return value is None or value is False or value in ("", [])
