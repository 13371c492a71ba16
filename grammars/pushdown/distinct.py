"""Distinct texts: which items of a state forbid that a text of their frame is written twice.

Elements of an array with `uniqueItems` must differ, and inside such an element the keys of an
object: of `{"a": 1, "a": 2}` nobody could say whether it equals `{"a": 2}`. Keys that may come in
any order must differ too. The automaton cannot
remember what was written; it says where the rule holds, and `masks/distinct_walk.py` enforces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from grammars.automata.codepoint_dfa import CodePointDfa
from grammars.automata.lengths import measure
from grammars.pushdown.configs import ArrayElement, ObjectMember, ValueThen

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from grammars.pushdown.configs import Config, ConfigTable


class Distinct(Enum):
    """What must differ in a frame."""

    NOTHING = "nothing"
    ELEMENTS = "elements"
    KEYS = "keys"
    ENDLESS_KEYS = "endless keys"
    """Keys that forbid a repeat in every item; each beginning of one begins infinitely many."""


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


def distinct_in(configs: Sequence[Config]) -> Distinct:
    """What must differ in the frame that some configs open together."""
    kinds = map(distinct_texts, configs)
    found = next((kind for kind in kinds if kind is not Distinct.NOTHING), Distinct.NOTHING)
    if found is Distinct.KEYS and all(map(_has_endless_keys, configs)):
        return Distinct.ENDLESS_KEYS
    return found


def _has_endless_keys(config: Config) -> bool:
    """Whether an object never runs out of undeclared keys; true also where there are none."""
    return (
        isinstance(config, ObjectMember)
        and config.context.has_distinct_keys
        and all(_is_endless(key) for key in config.layout.keys if isinstance(key, CodePointDfa))
    )


@lru_cache(maxsize=256)
def _is_endless(keys: CodePointDfa) -> bool:
    """Whether each beginning of a text begins infinitely many; all keys but some always do."""
    _, longest = measure(keys.next_state, keys.accepting)
    return bool((longest[1:] < 0).all())


def forbids_repeat(config: Config, configs: ConfigTable) -> bool:
    """Whether a config that follows a text of its frame is dead if that text was there before."""
    match config:
        case ArrayElement(layout=layout):
            return layout.has_distinct_texts
        case ValueThen(context, _, then):
            return context.has_distinct_keys and isinstance(configs[then], ObjectMember)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class NextElement:
    """An element behind a comma that must differ from those before it.

    Args:
        num_earlier: how many these are on the shortest way through the array.
        is_counted: whether there are never more where the element is owed.
        values: tells what may be written: the same where this is the same.
    """

    num_earlier: int
    is_counted: bool
    values: Hashable


def next_element(read: Sequence[Config], configs: ConfigTable) -> NextElement | None:
    """The element that some configs read together, if it must differ from others."""
    values = [config for config in read if isinstance(config, ValueThen)]
    arrays = [then for value in values if (then := _unique_array(value, configs)) is not None]
    if not arrays:
        return None
    return NextElement(
        max(_num_steps(array) - 1 for array in arrays),
        not any(array.place.counted for array in arrays),
        tuple((value.context, value.node) for value in values),
    )


def num_counted(configs: Sequence[Config], table: ConfigTable) -> int:
    """How far arrays have got with the elements that are owed, the one with the fewest.

    On the shortest way each element is a step at least.
    """
    thens = [table[x.then] if isinstance(x, ValueThen) else x for x in configs]
    return min((_num_steps(x) for x in thens if isinstance(x, ArrayElement)), default=0)


def _num_steps(array: ArrayElement) -> int:
    return array.place.index + sum(array.place.counted)


def _unique_array(value: ValueThen, configs: ConfigTable) -> ArrayElement | None:
    """The array that a value is an element of, where these must differ."""
    match configs[value.then]:
        case ArrayElement(layout=layout) as then if layout.has_distinct_texts:
            return then
        case _:
            return None
