"""Configs: what one item of a structural state still expects in its frame.

Configs refer to each other by number, so that a continuation of any length is hashed in one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.automata.string_rest import StringRest
    from grammars.cfg.items import Items as CfgItems
    from grammars.cfg.steps import CfgSteps, Place
    from grammars.pushdown.layouts import JsonContext, Layout
    from grammars.schema.plans import ArrayPlace, ObjectPlace
    from grammars.schema.value import NodeId, Value
    from grammars.spec import Part

ConfigId: TypeAlias = int
"""The number of a config in a `ConfigTable`."""


@dataclass(frozen=True, slots=True)
class Done:
    """The text is complete."""


@dataclass(frozen=True, slots=True)
class ValueThen:
    """A JSON value of `node`, then `then`."""

    context: JsonContext
    node: NodeId
    then: ConfigId


@dataclass(frozen=True, slots=True)
class ObjectMember:
    """Inside an object that has got to `place`: the next member or the end.

    Args:
        is_first: nothing has been written yet, so no comma comes first.
    """

    context: JsonContext
    layout: Layout[ObjectPlace]
    place: ObjectPlace
    is_first: bool


@dataclass(frozen=True, slots=True)
class ArrayElement:
    """Inside an array that has got to `place`: the next element or the end."""

    context: JsonContext
    layout: Layout[ArrayPlace]
    place: ArrayPlace

    @property
    def is_first(self) -> bool:
        """Whether nothing has been written yet, so no comma comes first."""
        return self.place == self.layout.start


@dataclass(frozen=True, slots=True)
class PartThen:
    """A part of a structure, then `then`."""

    part: Part
    then: ConfigId


@dataclass(frozen=True, slots=True)
class GrammarThen:
    """Inside a text of a grammar that has got to `place`, then `then`."""

    grammar: CfgSteps
    place: Place
    then: ConfigId


@dataclass(frozen=True, slots=True)
class GrammarWaits:
    """Below a frame between brackets of a grammar, of which `waiting` goes on, then `then`."""

    grammar: CfgSteps
    waiting: CfgItems
    then: ConfigId


@dataclass(frozen=True, slots=True)
class InString:
    """Inside a string that is read in pieces: a frame of its own, which its closing quote ends."""

    rest: StringRest


Config: TypeAlias = (
    Done
    | ValueThen
    | ObjectMember
    | ArrayElement
    | PartThen
    | GrammarThen
    | GrammarWaits
    | InString
)

DONE: Final[ConfigId] = 0
"""The number of `Done()`, in every table."""


class ConfigTable:
    """Configs and their numbers."""

    def __init__(self) -> None:
        self._configs: list[Config] = [Done()]
        self._ids: dict[Config, ConfigId] = {Done(): DONE}

    def __getitem__(self, config_id: ConfigId) -> Config:
        return self._configs[config_id]

    def intern(self, config: Config) -> ConfigId:
        """The number of `config`, a new one at its first sight."""
        known = self._ids.get(config)
        if known is None:
            known = len(self._configs)
            self._configs.append(config)
            self._ids[config] = known
        return known

    def sequence(self, parts: Iterable[Part], then: ConfigId) -> ConfigId:
        """The config of all `parts` one after the other, then `then`."""
        for part in reversed(tuple(parts)):
            then = self.intern(PartThen(part, then))
        return then


def opened_objects(context: JsonContext, value: Value) -> tuple[ObjectMember, ...]:
    """The objects of a value, after their opening bracket."""
    layouts = map(context.object_layout, value.objects)
    return tuple(ObjectMember(context, layout, layout.start, is_first=True) for layout in layouts)


def opened_arrays(context: JsonContext, value: Value) -> tuple[ArrayElement, ...]:
    """The arrays of a value, after their opening bracket."""
    layouts = map(context.array_layout, value.arrays)
    return tuple(ArrayElement(context, layout, layout.start) for layout in layouts)
