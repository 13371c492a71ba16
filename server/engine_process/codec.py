"""Bytes for what crosses the process border: a closed set of dataclasses and enums, in msgpack.

No pickle: what is not in the table below is refused on both sides. A dataclass is a map of its
fields with its name under "$", a dict a list of pairs (its keys need not be text), a list a tuple.
"""

from __future__ import annotations

import dataclasses
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from engine import config, model_info, output, request, stats
from grammars import spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

_TAG: Final = "$"
_MAP: Final = "map"
_PLAIN: Final = (type(None), bool, int, float, str, bytes)


def _defined_in(module: ModuleType) -> tuple[type, ...]:
    """The dataclasses and enums that a module defines."""
    return tuple(
        kind
        for kind in vars(module).values()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and (dataclasses.is_dataclass(kind) or issubclass(kind, Enum))
    )


CROSSING_TYPES: Final[tuple[type, ...]] = (
    *(
        kind
        for module in (spec, model_info, output, request, stats)
        for kind in _defined_in(module)
    ),
    config.EngineConfig,
)
"""What requests, answers and grammars are made of."""


class CodecError(Exception):
    """What was sent or received is none of the known messages."""


class Codec:
    """Turns values into bytes and back.

    Args:
        types: the dataclasses and enums that may cross, told apart by their names.
    """

    def __init__(self, types: Iterable[type]) -> None:
        self._types: Mapping[str, type] = MappingProxyType({kind.__name__: kind for kind in types})
        self._fields = {
            name: tuple(field.name for field in dataclasses.fields(kind))
            for name, kind in self._types.items()
            if dataclasses.is_dataclass(kind)
        }

    def encode(self, value: object) -> bytes:
        """The bytes of a value.

        Raises:
            CodecError: a type in it is not known.
        """
        return msgspec.msgpack.encode(self._lower(value))

    def decode(self, data: bytes) -> object:
        """The value of bytes that `encode` made.

        Raises:
            CodecError: they are not well formed, or name a type that is not known.
        """
        try:
            return self._raise(msgspec.msgpack.decode(data))
        except (msgspec.DecodeError, TypeError, ValueError, KeyError) as error:
            raise CodecError(f"not a message: {type(error).__name__}: {error}") from error

    def _lower(self, value: object) -> object:
        if isinstance(value, Enum) and type(value).__name__ in self._types:
            return {_TAG: type(value).__name__, "value": value.value}
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, (tuple, list)):
            return [self._lower(item) for item in value]
        if isinstance(value, dict):
            pairs = [[self._lower(key), self._lower(item)] for key, item in value.items()]
            return {_TAG: _MAP, "items": pairs}
        fields = self._fields.get(type(value).__name__)
        if fields is None:
            raise CodecError(f"{type(value).__name__} may not cross the process border")
        return {_TAG: type(value).__name__} | {
            name: self._lower(getattr(value, name)) for name in fields
        }

    def _raise(self, value: object) -> object:
        if isinstance(value, list):
            return tuple(self._raise(item) for item in value)
        if not isinstance(value, dict):
            return value
        name = value.pop(_TAG)
        if name == _MAP:
            return {self._raise(key): self._raise(item) for key, item in value["items"]}
        return self._types[name](**{field: self._raise(item) for field, item in value.items()})
