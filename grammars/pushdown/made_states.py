"""What is known of a state that was made from a template, see `JsonStates`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from grammars.pushdown.configs import ArrayElement
    from grammars.pushdown.layouts import JsonContext
    from grammars.pushdown.object_frames import ObjectFrame
    from grammars.pushdown.templates import Template
    from grammars.schema.value import NodeId


@dataclass(frozen=True, slots=True)
class BeforeValue:
    """A state before a value of `node`, after which comes `then`."""

    tags: int
    context: JsonContext
    node: NodeId
    then: int
    template: Template


@dataclass(frozen=True, slots=True)
class InObject:
    """A state inside an object, at a place of its frame."""

    tags: int
    frame: ObjectFrame
    place: int
    is_first: bool


@dataclass(frozen=True, slots=True)
class InArray:
    """A state inside an array; `then` is after the first element where it is about to come."""

    tags: int
    config: ArrayElement
    then: int
    template: Template


@dataclass(frozen=True, slots=True)
class AtEnd:
    """A state in which the text is complete and nothing can follow."""

    tags: int


MadeState: TypeAlias = BeforeValue | InObject | InArray | AtEnd
