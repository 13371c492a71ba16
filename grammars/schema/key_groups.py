"""Groups of undeclared keys: cut so that a plan can tell which keys surely differ.

An automaton cannot remember which keys it has read. But keys of disjoint languages differ, so where
distinct keys are owed (`minProperties`, witnesses), languages are cut into as many parts as matter.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from grammars.automata import codepoint_dfa, pattern_dfa
from grammars.errors import UnsupportedError
from grammars.schema.value import KeyClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.schema.value import ObjectShape

_MAX_LISTED: Final = 64
_MAX_DISTINCT: Final = 8


def key_groups(shape: ObjectShape, names: tuple[str, ...], max_states: int) -> Iterator[KeyClass]:
    """Disjoint groups of all keys but `names`.

    Each is wholly inside or outside of every witness's language. If several keys are owed, a group
    is a single key (small languages) or one of several parts of a language.

    Raises:
        UnsupportedError: so many distinct keys are owed that the cuts would be too many.
    """
    groups = list(_classes(shape, names, max_states))
    for witness in shape.witnesses:
        groups = [
            replace(group, keys=keys)
            for group in groups
            for keys in (
                group.keys.intersect(witness.keys, max_states=max_states),
                group.keys.difference(witness.keys, max_states=max_states),
            )
            if not keys.is_empty
        ]
    num_distinct = max(shape.min_properties, len(shape.witnesses))
    for group in groups:
        if num_distinct < 2 or group.keys.is_empty:
            yield from () if group.keys.is_empty else (group,)
        else:
            yield from _cut(group, num_distinct, max_states)


@lru_cache(maxsize=1024)
def undeclared_keys(declared: frozenset[str], max_states: int) -> CodePointDfa:
    """All keys but the declared ones; the same object for equal arguments."""
    if not declared:
        return codepoint_dfa.any_string()
    names = codepoint_dfa.strings(sorted(declared), max_states=max_states)
    return codepoint_dfa.any_string().difference(names, max_states=max_states)


def _classes(shape: ObjectShape, names: tuple[str, ...], max_states: int) -> Iterator[KeyClass]:
    rest = undeclared_keys(frozenset(names), max_states)
    for group in shape.classes:
        yield replace(group, keys=group.keys.intersect(rest, max_states=max_states))
    for group in shape.classes:
        rest = rest.difference(group.keys, max_states=max_states)
    yield KeyClass(rest, shape.additional)


def _cut(group: KeyClass, num_parts: int, max_states: int) -> Iterator[KeyClass]:
    """The keys one by one if they are few; else by their length modulo the number of parts."""
    listed = _listed(group.keys)
    if listed is not None:
        for key in listed:
            yield replace(group, keys=codepoint_dfa.strings([key]))
        return
    if num_parts > _MAX_DISTINCT:
        raise UnsupportedError(
            f"more than {_MAX_DISTINCT} distinct undeclared keys are required; declare them",
            keyword="minProperties",
        )
    for remainder in range(num_parts):
        length = pattern_dfa.fullmatch(rf"[^]{{{remainder}}}(?:[^]{{{num_parts}}})*")
        keys = group.keys.intersect(length, max_states=max_states)
        if not keys.is_empty:
            yield replace(group, keys=keys)


def _listed(keys: CodePointDfa) -> list[str] | None:
    """All strings of a small language, None for a large or infinite one."""
    found: list[str] = []
    pending = [(keys.start, "")]
    while pending:
        state, text = pending.pop()
        if len(text) > keys.num_states or len(found) + len(pending) > _MAX_LISTED:
            return None
        if keys.accepting[state]:
            found.append(text)
        for first, last, target in keys.edges(state):
            if last - first >= _MAX_LISTED:
                return None
            pending += [(target, text + chr(point)) for point in range(first, last + 1)]
    return sorted(found)
