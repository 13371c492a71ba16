"""Patterns as automata: `fullmatch` for whole texts, `search` for JSON Schema's `pattern`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.codepoint_dfa import DEFAULT_MAX_STATES, CodePointDfa, build_codepoint_dfa
from grammars.automata.lookaround import anchors_of, resolve_assertions
from grammars.automata.partition import Partition, partition_of
from grammars.automata.pattern import parse_pattern
from grammars.automata.pattern_ast import (
    Anchor,
    Characters,
    Concatenation,
    Look,
    Node,
    Repetition,
)
from grammars.automata.pattern_nfa import (
    ANY_TEXT,
    PatternNfa,
    PatternParts,
    options_of,
    strip_end,
    strip_start,
)
from grammars.automata.rows import take_rows
from grammars.automata.subset import Nfa, determinise
from grammars.automata.unicode_sets import WORD
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.charset import CharSet

SYMBOLS_PER_STATE: Final = 256
"""A row of more classes of characters counts as several states."""

COMBINED_STATES_PER_STATE: Final = 4
"""States of the whole, each time that another lookahead from the start restricts it, granted for
each state of the limit."""

_WORD_BOUNDARIES: Final = frozenset((Anchor.WORD_BOUNDARY, Anchor.NO_WORD_BOUNDARY))


def fullmatch(
    pattern: str, *, max_states: int = DEFAULT_MAX_STATES, pointer: str = ""
) -> CodePointDfa:
    """The strings that match `pattern` as a whole.

    Raises:
        InvalidGrammarError, UnsupportedError: see `parse_pattern`.
        LimitExceededError: the automaton needs more than `max_states` states.
    """
    root = parse_pattern(pattern, pointer=pointer)
    parts = root.parts if isinstance(root, Concatenation) else (root,)
    return _search(Concatenation((Anchor.START, *parts, Anchor.END)), max_states)


def search(
    pattern: str, *, max_states: int = DEFAULT_MAX_STATES, pointer: str = ""
) -> CodePointDfa:
    """The strings that hold a match of `pattern` somewhere; raises as `fullmatch` does."""
    return _search(parse_pattern(pattern, pointer=pointer), max_states)


@dataclass(frozen=True, slots=True)
class RepeatedClass:
    """A pattern that is one class of characters, so many times, and nothing else.

    Args:
        members: the class.
        minimum: characters at least.
        maximum: characters at most; None is no bound.
    """

    members: CharSet
    minimum: int
    maximum: int | None


def repeated_class(pattern: str, *, pointer: str = "") -> RepeatedClass | None:
    """What a searched pattern as `^[a-z]{1,64}$` repeats; None for other patterns.

    Its count need not be multiplied into an automaton. Raises as `parse_pattern` does.
    """
    if not (pattern.startswith("^") and pattern.endswith("}$")):
        return None
    match parse_pattern(pattern, pointer=pointer):
        case Concatenation(
            (Anchor.START, Repetition(Characters(members), minimum, maximum), Anchor.END)
        ):
            return RepeatedClass(members, minimum, maximum)
        case _:
            return None


def texts_of(members: CharSet) -> CodePointDfa:
    """The strings of characters of a class, the empty one included."""
    return _search(
        Concatenation((Anchor.START, Repetition(Characters(members), 0, None), Anchor.END)),
        DEFAULT_MAX_STATES,
    )


def _search(root: Node, max_states: int) -> CodePointDfa:
    nfa = PatternNfa(PatternParts(max_states))
    demands: list[Look] = []
    options = options_of(root)
    for option in options:
        body, is_start_bound = strip_start(option)
        body, is_end_bound = strip_end(body)
        if is_start_bound and len(options) == 1:
            demands, body = _leading_lookaheads(body)
            nfa.parts.count_looks(len(demands))
        state = nfa.start if is_start_bound else nfa.read(ANY_TEXT, nfa.start)
        state = nfa.read(body, state)
        nfa.accept(state, any_text_follows=not is_end_bound)
    found = _determinised(nfa)
    # A lookahead from the start is about the whole text: an intersection is cheaper.
    num_combined = 0
    for look in demands:
        text = _search(Concatenation((Anchor.START, look.part)), max_states)
        restrict = found.difference if look.is_negated else found.intersect
        found = restrict(text, max_states=max_states)
        num_combined += found.num_states + text.num_states
        if num_combined > COMBINED_STATES_PER_STATE * max_states:
            raise LimitExceededError("max_states", max_states, "a pattern's lookaheads")
    return found


def _leading_lookaheads(body: Concatenation) -> tuple[list[Look], Concatenation]:
    """The lookaheads before anything else, each once, and the rest."""
    looks = [
        part
        for part in takewhile(lambda part: isinstance(part, Look) and part.is_ahead, body.parts)
        if isinstance(part, Look)
    ]
    return list(dict.fromkeys(looks)), Concatenation(body.parts[len(looks) :])


def _determinised(nfa: PatternNfa) -> CodePointDfa:
    tells_words = not anchors_of(nfa).isdisjoint(_WORD_BOUNDARIES)
    word = nfa.parts.set_number(WORD) if tells_words else None
    partition = partition_of(nfa.parts.sets)
    if nfa.guards:
        is_word = np.zeros(partition.num_classes, np.bool_)
        for first, last in partition.class_runs[word] if word is not None else ():
            is_word[first : last + 1] = True
        next_state, start, accepting = resolve_assertions(nfa, partition, is_word)
    else:
        next_state, start, accepting = _subsets(nfa, partition)
    return build_codepoint_dfa(
        partition.range_start, partition.range_class, next_state, start, accepting
    )


def _subsets(
    nfa: PatternNfa, partition: Partition
) -> tuple[NDArray[np.int32], int, NDArray[np.bool_]]:
    """The subset construction of a pattern without assertions: next_state, start, accepting."""
    edges = [
        (source, low, high, target)
        for source, number, target in nfa.edges
        for low, high in partition.class_runs[number]
    ]
    source, low, high, target = take_rows(edges, 4).T.copy()
    epsilon_source, epsilon_target = take_rows(nfa.epsilons, 2).T.copy()
    accepting = np.zeros(nfa.num_states, np.bool_)
    accepting[nfa.accepting] = True
    group, rank = nfa.fellows() or (None, None)
    plain = Nfa(
        num_states=nfa.num_states,
        start=nfa.start,
        epsilon_source=epsilon_source,
        epsilon_target=epsilon_target,
        source=source,
        low=low,
        high=high,
        target=target,
        accepting=accepting,
        num_symbols=partition.num_classes,
        accepts_all=nfa.accepts_all,
        group=group,
        rank=rank,
    )
    width = max(1, partition.num_classes / SYMBOLS_PER_STATE)
    try:
        table = determinise(plain, max_states=int(nfa.parts.max_states / width), what="a pattern")
    except LimitExceededError as error:
        raise LimitExceededError("max_states", nfa.parts.max_states, "a pattern") from error
    is_accepting = np.zeros(table.next_state.shape[0], np.bool_)
    is_accepting[table.state_of_item()[accepting[table.set_items]]] = True
    return table.next_state, table.start, is_accepting
