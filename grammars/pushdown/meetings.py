"""check_meetings: strings of alternatives that meet at one place are tried before any text.

Where one of several objects is being written, the strings under one key of each may all come next.
One lexer reads them, in which bounds of their lengths are multiplied: it may need too many states,
and that has to be known before there is a text.
"""

from __future__ import annotations

from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

from grammars.pushdown.terminals import Strings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.schema.graph import ValueGraph
    from grammars.schema.value import NodeId, ObjectShape, StringSet, Value

_MAX_MEETINGS: Final = 2_000
"""Places that are looked at, at most; what meets beyond them is found out when it is reached."""

_STATES_OF_CHARACTER: Final = 64

_Meeting: TypeAlias = "frozenset[NodeId]"


def check_meetings(
    graph: ValueGraph, try_lexer: Callable[[tuple[Strings, ...]], object], max_states: int
) -> None:
    """Look at the sets of values that may come next at one place, each of them once.

    Args:
        graph: of the schema.
        try_lexer: makes the lexer of some strings.
        max_states: of a lexer; strings that surely stay below it are not tried.

    Raises:
        LimitExceededError: some strings that meet need more than `max_states` states.
    """
    if not graph.has_alternatives:
        return
    first: _Meeting = frozenset((graph.root,))
    pending, seen = [first], {first}
    while pending and len(seen) <= _MAX_MEETINGS:
        values = [graph.value(node) for node in pending.pop()]
        strings = {value.strings for value in values if value.strings is not None}
        if len(strings) > 1 and prod(map(_size, strings)) * _STATES_OF_CHARACTER > max_states:
            try_lexer(tuple(Strings(one, is_counted=False) for one in strings))
        for nodes in _members(values):
            meeting = frozenset(node for node in nodes if graph.is_productive(node))
            if meeting and meeting not in seen:
                seen.add(meeting)
                pending.append(meeting)


def _size(strings: StringSet) -> int:
    """States that the strings take at most, without their spelling."""
    longest = strings.min_length if strings.max_length is None else strings.max_length
    return (1 if strings.content is None else strings.content.num_states) * (longest + 1)


def _members(values: list[Value]) -> Iterator[set[NodeId]]:
    """The nodes that meet one place further in."""
    objects = [shape for value in values for shape in value.objects]
    if objects:
        names = {name for shape in objects for name, _ in shape.properties}
        for name in names:
            yield {shape.member(name) for shape in objects}
        yield {node for shape in objects for node in _undeclared(shape)}
    arrays = [shape for value in values for shape in value.arrays]
    for nodes in zip_longest(*(shape.prefix for shape in arrays)):
        rests = (shape.rest for shape in arrays)
        yield {rest if node is None else node for node, rest in zip(nodes, rests, strict=True)}
    if arrays:
        yield {node for shape in arrays for node in (shape.rest, *(c.node for c in shape.counts))}


def _undeclared(shape: ObjectShape) -> Iterator[NodeId]:
    yield shape.additional
    yield from (group.node for group in shape.classes)
    yield from (group.node for group in shape.witnesses)
