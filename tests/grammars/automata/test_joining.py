"""Automata side by side are those of the subset construction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from grammars.automata.joining import join
from grammars.automata.json_string import any_json_string, json_string
from grammars.automata.lexer import LexerBuilder
from grammars.automata.pattern_dfa import search
from grammars.automata.utf8_text import utf8_dfa

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa

MAX_STATES = 1000


def matches(pattern: str) -> Dfa:
    return utf8_dfa(search(f"^(?:{pattern})$"), max_states=MAX_STATES)


def determinised(parts: list[Dfa]):
    builder = LexerBuilder(MAX_STATES)
    for item, part in enumerate(parts):
        builder.accept(builder.embed(builder.start, part), item)
    return builder.determinise()


@pytest.mark.parametrize(
    "parts",
    [
        [matches("a|bc"), matches("[0-9]+")],
        [matches("[0-9]+"), any_json_string(), matches("null|true")],
        [json_string(search("^a+$").with_length(1, 3)), matches("-?[1-9]")],
        [matches("é"), matches("a"), matches("b"), matches("日")],
    ],
)
def test_what_is_joined_reads_what_any_part_reads_under_its_own_label(parts):
    joined, plain = join(parts), determinised(parts)
    assert joined is not None
    pending, seen = [(joined.start, plain.dfa.start)], {(joined.start, plain.dfa.start)}
    for state, plain_state in pending:
        label, plain_label = int(joined.label[state]), int(plain.dfa.label[plain_state])
        read = frozenset[int]() if label == 0 else frozenset((label - 1,))
        assert read == (plain.items[plain_label - 1] if plain_label else frozenset())
        assert joined.char_boundary[state] == plain.dfa.char_boundary[plain_state]
        for byte in range(256):
            after = joined.step(state, byte), plain.dfa.step(plain_state, byte)
            assert (after[0] == 0) == (after[1] == 0)
            if after[0] and after not in seen:
                seen.add(after)
                pending.append(after)
    assert {state for state, _ in seen} == set(range(1, joined.num_states)), "it is trimmed"


def test_labels_of_a_part_come_after_those_before_it():
    first, second = matches("a"), matches("b")
    two = join((first, second))
    assert two is not None
    both = join((two, matches("c")))
    assert both is not None
    assert [int(both.label[both.run(text)]) for text in (b"a", b"b", b"c")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([matches("ab"), matches("ac")], "both begin with a"),
        ([matches("b"), matches("(?:ab)*a")], "the second comes back to its start"),
        ([matches("(?:ab)*a"), matches("b")], "the first does"),
        ([matches("a"), matches("b"), matches("b")], "two of three begin alike"),
    ],
)
def test_what_the_first_symbol_does_not_tell_apart_is_not_joined(parts, reason):
    assert join(parts) is None, reason


def test_symbols_past_the_bytes_are_read_by_the_part_that_has_them():
    control = LexerBuilder(MAX_STATES)
    control.accept(control.symbol(control.start, 300), 0)
    dfa = control.determinise().dfa
    for parts in ([dfa, matches("a")], [matches("a"), dfa]):
        joined = join(parts)
        assert joined is not None
        assert joined.step(joined.start, 300) != 0
        assert joined.step(joined.start, ord("a")) != 0
        assert not np.any([joined.step(joined.start, symbol) for symbol in (301, 299, 256)])
