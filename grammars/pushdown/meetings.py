"""check_meetings: keys of objects that are written side by side are tried before any text.

The keys of an object are read by one lexer, and so are those of several objects of which one is
being written. Where they are of large languages (`patternProperties`), that lexer may need too many
states, and that has to be known before there is a text. Values are no matter: strings that are too
large together are read in pieces (`string_reading`).
"""

from __future__ import annotations

from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

from grammars.automata.codepoint_dfa import CodePointDfa
from grammars.automata.string_rest import spelling_weight
from grammars.pushdown.transitions import member_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from grammars.pushdown.layouts import JsonContext
    from grammars.pushdown.terminals import Terminal
    from grammars.schema.value import NodeId, ObjectShape, Value

_MAX_MEETINGS: Final = 2_000
"""Places that are looked at, at most; what meets beyond them is found out when it is reached."""

_FEW_STATES: Final = 4_096
"""Languages of keys that take fewer states, about, are not tried."""

_Meeting: TypeAlias = "frozenset[NodeId]"


def check_meetings(
    context: JsonContext, try_lexer: Callable[[tuple[Terminal, ...]], object]
) -> None:
    """Look at the sets of values that may come next at one place, each of them once.

    Args:
        context: of the schema.
        try_lexer: makes the lexer of some terminals.

    Raises:
        LimitExceededError: some keys that meet need more states than a lexer may have.
    """
    graph = context.graph
    if not graph.has_key_classes or _are_few(_all_languages(context)):
        return
    first: _Meeting = frozenset((graph.root,))
    pending, seen = [first], {first}
    while pending and len(seen) <= _MAX_MEETINGS:
        values = [graph.value(node) for node in pending.pop()]
        keys = dict.fromkeys(
            key
            for value in values
            for shape in value.objects
            for key in context.object_layout(shape).keys
        )
        if not _are_few([key for key in keys if isinstance(key, CodePointDfa)]):
            try_lexer(tuple(member_terminal(key, context, follows=True) for key in keys))
        for nodes in _members(values):
            meeting = frozenset(node for node in nodes if graph.is_productive(node))
            if meeting and meeting not in seen:
                seen.add(meeting)
                pending.append(meeting)


def _all_languages(context: JsonContext) -> set[CodePointDfa]:
    """The languages of keys of all objects, whether they meet or not; plain schemas have none."""
    layouts = map(context.object_layout, context.graph.evaluated_objects)
    return {key for layout in layouts for key in layout.keys if isinstance(key, CodePointDfa)}


def _are_few(languages: Collection[CodePointDfa]) -> bool:
    """Whether keys of some languages surely are few states in one lexer."""
    num_states = sum(keys.num_states * spelling_weight(keys) for keys in languages)
    return max(num_states, prod(keys.num_states for keys in languages)) <= _FEW_STATES


def _members(values: list[Value]) -> Iterator[set[NodeId]]:
    """The nodes that meet one place further in."""
    objects = [shape for value in values for shape in value.objects]
    if objects:
        names = {name for shape in objects for name in shape.declared}
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
