"""Flags made from a configuration dataclass: one for each field, explained by its docstring."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
from types import MappingProxyType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Literal,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)
from typing import Union as TypingUnion

from engine.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Collection


_UNITS: Final = MappingProxyType({"bytes": "BYTES", "s": "SECONDS", "file": "FILE"})
"""Last part of a field's name -> what the help calls its value."""


class Configuration(Protocol):
    """A frozen dataclass of settings, each with a default."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


ConfigurationT = TypeVar("ConfigurationT", bound=Configuration)


def add_flags(
    parser: argparse.ArgumentParser,
    kind: type[Configuration],
    title: str,
    *,
    without: Collection[str] = (),
) -> None:
    """Add `--field-name` for every field of a configuration.

    Args:
        parser: gets a group of flags.
        kind: the configuration.
        title: of the group.
        without: fields that are set in another way.
    """
    group = parser.add_argument_group(title)
    types = get_type_hints(kind)
    explanations = explain_fields(kind)
    for field in dataclasses.fields(kind):
        if field.name not in without:
            group.add_argument(
                f"--{field.name.replace('_', '-')}",
                default=argparse.SUPPRESS,
                help=_help(field, types[field.name], explanations[field.name]).replace("%", "%%"),
                **_argument_options(types[field.name], field.name),
            )


def read_flags(
    kind: type[ConfigurationT], parsed: argparse.Namespace, **others: object
) -> ConfigurationT:
    """The configuration that the flags say; fields without a flag given keep their defaults.

    Args:
        kind: the configuration.
        parsed: from a parser with `add_flags` of `kind`.
        others: fields that have no flag.

    Raises:
        ValueError: a value is refused; the message names flags, where the configuration's own
            names fields.
    """
    given = {
        field.name: value
        for field in dataclasses.fields(kind)
        if (value := getattr(parsed, field.name, None)) is not None
    }
    as_fields = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
    try:
        return kind(**as_fields, **others)
    except (ValueError, InvalidConfigError) as error:
        raise ValueError(_with_flags(str(error), kind)) from error


def _with_flags(message: str, kind: type[Configuration]) -> str:
    """A message with the flag for each field in it; one that is a plain word stands in front."""
    names = [field.name for field in dataclasses.fields(kind)]
    plain = "|".join(name for name in names if "_" not in name)
    compound = "|".join(name for name in names if "_" in name)
    return re.sub(
        rf"^(?:{plain})(?=[:=])|\b(?:{compound})\b",
        lambda found: f"--{found[0].replace('_', '-')}",
        message,
    )


def explain_fields(kind: type[Configuration]) -> dict[str, str]:
    """What the `Args` section of the docstring says of every field."""
    section = inspect.cleandoc(kind.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, flags=re.MULTILINE)
    explained = {name: re.sub(r"\s+", " ", text).rstrip(".") for name, text in entries}
    missing = {field.name for field in dataclasses.fields(kind)} - explained.keys()
    return explained | dict.fromkeys(missing, "not explained")


def _help(field: dataclasses.Field[Any], kind: object, explanation: str) -> str:
    """The explanation with its default; what stands behind `None:` in it is the default."""
    text, _, default = explanation.partition("; None: ")
    repeated = "; may be repeated" if kind == tuple[str, ...] else ""
    return f"{text}{repeated} (default: {default or _shown(field.default, field.name)})"


def _argument_options(kind: object, name: str) -> dict[str, Any]:
    """How argparse reads a value of this type; the name's ending has the unit."""
    if get_origin(kind) in (UnionType, TypingUnion):
        (kind,) = (member for member in get_args(kind) if member is not NoneType)
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction}
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    if get_origin(kind) is tuple and get_args(kind) == (str, ...):
        return {"action": "append", "metavar": "TEXT"}
    if kind in (int, float, str):
        unit = _UNITS.get(name.rpartition("_")[2])
        return {"type": kind, "metavar": unit or {int: "N", float: "X", str: "TEXT"}[kind]}
    raise TypeError(f"no flag can be made for a field of type {kind}")


def _shown(default: object, name: str) -> str:
    match default:
        case int() if name.endswith("_bytes") and default % 2**10 == 0:
            in_mebibytes = default % 2**20 == 0
            count, unit = (default >> 20, "MiB") if in_mebibytes else (default >> 10, "KiB")
            return f"{default}, that is {count} {unit}"
        case None:
            return "none"
        case ():
            return "none"
        case bool():
            return "yes" if default else "no"
        case _:
            return str(default)
