"""Groups of undeclared keys: cut so that a plan can tell which keys surely differ.

An automaton cannot remember which keys it has read. But keys of disjoint languages differ, so where
several witnesses are owed, languages are cut into as many parts; and where keys are counted, small
languages into their keys.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from grammars.automata import codepoint_dfa, pattern_dfa, string_list
from grammars.automata.lengths import lengths_of
from grammars.errors import LimitExceededError
from grammars.schema.value import KeyClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.schema.key_languages import KeyLanguages
    from grammars.schema.value import NodeId, ObjectShape

MAX_LISTED: Final = 64
"""Keys of a language that is listed, at most."""

_SEVERAL: Final = 2


def key_groups(
    shape: ObjectShape,
    names: tuple[str, ...],
    nothing: NodeId,
    languages: KeyLanguages,
    max_distinct: int,
) -> list[KeyClass]:
    """Disjoint groups of all keys but `names` that may have a value.

    Each is wholly inside or outside of every witness's language. If several keys are owed, a group
    is a single key (small languages); if several witnesses are, one of several parts of a language.

    Args:
        shape: the objects.
        names: its declared keys.
        nothing: the node of no value.
        languages: makes the groups.
        max_distinct: witnesses owed at most.

    Raises:
        LimitExceededError: so many witnesses are owed that the cuts would be too many.
    """
    groups = list(_classes(shape, names, nothing, languages))
    for witness in shape.witnesses:
        groups = [
            replace(group, keys=keys)
            for group in groups
            for keys in (
                languages.both(group.keys, witness.keys),
                languages.but(group.keys, witness.keys),
            )
        ]
    groups = [group for group in groups if not group.keys.is_empty]
    if max(num_owed_keys(shape), len(shape.witnesses)) < _SEVERAL:
        return groups
    return [
        replace(group, keys=keys)
        for group in groups
        for keys in _cut(group.keys, len(shape.witnesses), languages, max_distinct)
    ]


def num_owed_keys(shape: ObjectShape) -> int:
    """How many keys an object may need that are not required by name."""
    return shape.min_properties - len(shape.required)


@lru_cache(maxsize=1024)
def undeclared_keys(declared: frozenset[str], max_states: int) -> CodePointDfa:
    """All keys but the declared ones; the same object for equal arguments."""
    if not declared:
        return codepoint_dfa.any_string()
    names = string_list.strings(sorted(declared), max_states=max_states)
    return codepoint_dfa.any_string().difference(names, max_states=max_states)


def _classes(
    shape: ObjectShape, names: tuple[str, ...], nothing: NodeId, languages: KeyLanguages
) -> Iterator[KeyClass]:
    """The groups of the shape, and that of all other keys, where they may have a value."""
    declared = languages.named(frozenset(names))
    for group in shape.classes:
        if group.node != nothing:
            yield replace(group, keys=languages.but(group.keys, declared))
    if shape.additional != nothing:
        rest = languages.but(languages.everything, declared)
        for group in shape.classes:
            rest = languages.but(rest, group.keys)
        yield KeyClass(rest, shape.additional)


def _cut(
    keys: CodePointDfa, num_parts: int, languages: KeyLanguages, max_parts: int
) -> list[CodePointDfa]:
    """The keys one by one if they are few; else by their length modulo the number of parts.

    Where some lengths do not occur, single keys of the first parts make up for it: a large language
    has as many parts as are asked for.
    """
    listed = listed_keys(keys)
    if listed is not None:
        return [languages.named(frozenset((key,))) for key in listed]
    if num_parts < _SEVERAL:
        return [keys]
    if num_parts > max_parts:
        raise LimitExceededError(
            "max_distinct_keys", max_parts, "an object with distinct undeclared keys"
        )
    lengths = [_lengths(remainder, num_parts) for remainder in range(num_parts)]
    parts = [languages.both(keys, length) for length in lengths]
    parts = [part for part in parts if not part.is_empty]
    while len(parts) < num_parts:
        single = languages.named(frozenset((_shortest(parts[-1]),)))
        parts[-1:] = [single, languages.but(parts[-1], single)]
    return parts


@lru_cache(maxsize=256)
def _lengths(remainder: int, modulus: int) -> CodePointDfa:
    return pattern_dfa.fullmatch(rf"[^]{{{remainder}}}(?:[^]{{{modulus}}})*")


def _shortest(keys: CodePointDfa) -> str:
    """One of the shortest strings of a language that is not empty, of letters where it can be."""
    texts = {keys.start: ""}
    for state in (order := [keys.start]):
        if keys.accepting[state]:
            return texts[state]
        for first, last, target in keys.edges(state):
            if target not in texts:
                texts[target] = texts[state] + chr(min(max(first, ord("a")), last))
                order.append(target)
    raise AssertionError("the language is empty")


def has_many_keys(keys: CodePointDfa, least: int) -> bool:
    """Whether a language surely has so many strings."""
    if listed_keys(keys) is not None:
        return False
    return (
        least <= MAX_LISTED
        or lengths_of(keys.next_state, keys.accepting, keys.start).longest is None
    )


def listed_keys(keys: CodePointDfa) -> list[str] | None:
    """All strings of a small language, None for a large or infinite one."""
    found: list[str] = []
    pending = [(keys.start, "")]
    while pending:
        state, text = pending.pop()
        if len(text) > keys.num_states or len(found) + len(pending) > MAX_LISTED:
            return None
        if keys.accepting[state]:
            found.append(text)
        for first, last, target in keys.edges(state):
            if last - first >= MAX_LISTED:
                return None
            pending += [(target, text + chr(point)) for point in range(first, last + 1)]
    return sorted(found)
