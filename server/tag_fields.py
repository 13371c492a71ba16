"""Fields of structural tags, which come as plain JSON: read as what they must be, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.spec import JsonSchema
from server.request_errors import InvalidValueError, MissingFieldError, UnsupportedParameterError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


def check_fields(value: Mapping[str, object], known: Collection[str], path: str) -> None:
    """Refuse fields that nobody knows; null, false and what is empty ask for nothing.

    Raises:
        UnsupportedParameterError: names the first of them.
    """
    for name, given in value.items():
        if name not in known and given not in (None, False, "", []):
            raise UnsupportedParameterError(
                f"{path}.{name[:64]}", f"it may be one of {', '.join(known)}"
            )


def objects_of(
    value: Mapping[str, object], name: str, path: str
) -> list[tuple[dict[str, object], str]]:
    """The objects of a list that is not empty, each with its path.

    Raises:
        InvalidValueError: it is none.
    """
    items = value.get(name)
    path = f"{path}.{name}"
    if not isinstance(items, list) or not items:
        raise InvalidValueError(path, "a list with at least 1 object is needed")
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise InvalidValueError(f"{path}[{index}]", "an object is needed")
    return [(item, f"{path}[{index}]") for index, item in enumerate(items)]


def texts_of(value: Mapping[str, object], name: str, path: str) -> list[str]:
    """Texts, none of them empty, each once.

    Raises:
        InvalidValueError: they are none.
    """
    texts = value.get(name)
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise InvalidValueError(f"{path}.{name}", "a list of texts is needed, none of them empty")
    return list(dict.fromkeys(texts))


def text_of(value: Mapping[str, object], name: str, path: str) -> str:
    """A text, which may be empty.

    Raises:
        MissingFieldError: there is nothing.
        InvalidValueError: it is none.
    """
    text = value.get(name)
    if text is None:
        raise MissingFieldError(f"{path}.{name}")
    if not isinstance(text, str):
        raise InvalidValueError(f"{path}.{name}", "a text is needed")
    return text


def flag_of(value: Mapping[str, object], name: str, path: str) -> bool:
    """True or false; nothing is false.

    Raises:
        InvalidValueError: it is neither.
    """
    flag = value.get(name)
    if not isinstance(flag, bool | None):
        raise InvalidValueError(f"{path}.{name}", "true or false is needed")
    return bool(flag)


def schema_of(value: Mapping[str, object], name: str, path: str) -> JsonSchema:
    """A schema, not looked into.

    Raises:
        InvalidValueError: it is none.
    """
    schema = value.get(name)
    if not isinstance(schema, dict | bool):
        raise InvalidValueError(f"{path}.{name}", "a JSON Schema is needed: an object or a boolean")
    return JsonSchema.from_value(schema)
