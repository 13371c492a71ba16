"""parse_request: a parsed JSON body as the typed request of an endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from server.errors import UnknownParameterError, UnsupportedParameterError
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
        refused: fields that are refused by name, each with the way out; null and false ask for
            nothing.
        strict_params: refuse unknown fields.

    Returns:
        The request, and the paths of the fields that no type declares.

    Raises:
        UnsupportedParameterError: one of `refused` is set.
        UnknownParameterError: an unknown field, with `strict_params`.
        RequestError: a field is missing or has a wrong value; `param` is its path.
    """
    for name, way_out in refused.items():
        if body.get(name) not in (None, False):
            raise UnsupportedParameterError(name, way_out)
    try:
        request = kind.model_validate(body)
    except ValidationError as error:
        raise request_error(error, body) from error
    unknown = tuple(name for name in unknown_fields(request) if name not in refused)
    if unknown and strict_params:
        raise UnknownParameterError(unknown[0])
    return request, unknown
