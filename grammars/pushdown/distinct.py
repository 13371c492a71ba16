"""Distinct texts: which items of a state forbid that a text of their frame is written twice.

Elements of an array with `uniqueItems` must differ, and inside such an element the keys of an
object: of `{"a": 1, "a": 2}` nobody could say whether it equals `{"a": 2}`. Keys that may come in
any order must differ too. The automaton cannot
remember what was written; it says where the rule holds, and `masks/distinct_walk.py` enforces it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from grammars.pushdown.configs import ArrayElement, ObjectMember, ValueThen

if TYPE_CHECKING:
    from grammars.pushdown.configs import Config, ConfigTable


class Distinct(Enum):
    """What must differ in a frame."""

    NOTHING = "nothing"
    ELEMENTS = "elements"
    KEYS = "keys"


def distinct_texts(config: Config) -> Distinct:
    """What must differ in the frame that a config opens."""
    match config:
        case ArrayElement(layout=layout) if layout.has_distinct_texts and config.is_first:
            return Distinct.ELEMENTS
        case ObjectMember(context, layout) if (
            layout.has_distinct_texts and context.has_distinct_keys
        ):
            return Distinct.KEYS
        case _:
            return Distinct.NOTHING


def forbids_repeat(config: Config, configs: ConfigTable) -> bool:
    """Whether a config that follows a text of its frame is dead if that text was there before."""
    match config:
        case ArrayElement(layout=layout):
            return layout.has_distinct_texts
        case ValueThen(context, _, then):
            return context.has_distinct_keys and isinstance(configs[then], ObjectMember)
        case _:
            return False
