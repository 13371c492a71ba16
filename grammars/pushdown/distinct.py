"""Distinct texts: which items of a state forbid that a text of their frame is written twice.

Elements of an array with `uniqueItems` must differ, and inside such an element the keys of an
object: of `{"a": 1, "a": 2}` nobody could say whether it equals `{"a": 2}`. Keys that may come in
any order must differ too. The automaton cannot
remember what was written; it says where the rule holds, and `masks/distinct_walk.py` enforces it.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from grammars.automata.codepoint_dfa import CodePointDfa
from grammars.automata.lengths import measure
from grammars.pushdown.configs import ArrayElement, ObjectMember, ValueThen

if TYPE_CHECKING:
    from collections.abc import Sequence

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
