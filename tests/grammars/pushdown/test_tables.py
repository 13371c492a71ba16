"""The automaton's tables: what is written is what the reader and the kernels find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from grammars.errors import LimitExceededError
from grammars.pushdown.actions import Dead, Goto, Pop, Push
from grammars.pushdown.tables import AutomatonTables
from tests.support.toy_arrays import NUMBERS, STRINGS, after_dfa, value_dfa

if TYPE_CHECKING:
    from grammars.pushdown.actions import Action


def test_a_dfa_is_added_once_and_dead_stays_zero():
    tables = AutomatonTables()
    first, second = after_dfa(), value_dfa(NUMBERS | STRINGS, 300, may_close=True)
    bases = [tables.lexers.add_dfa(dfa) for dfa in (first, second, first)]
    assert bases[0] == bases[2] == 0
    for base, dfa in zip(bases, (first, second), strict=False):
        for state in range(1, dfa.num_states):
            assert tables.lexers.locate(base + state) == (dfa, state)
            for symbol in (ord("["), ord("]"), ord(","), ord("1"), 300, 301):
                row = tables.lexers.row(base + state)
                arrays = tables.arrays()
                column = arrays.classes[row[1] + symbol] if symbol < row[2] else 0
                local = dfa.step(state, symbol)
                assert arrays.transitions[row[0] + column] == (base + local if local else 0)


def test_a_lexer_state_knows_how_many_bytes_lead_on():
    tables = AutomatonTables()
    tables.lexers.add_dfa(after_dfa())
    dfa = value_dfa(NUMBERS | STRINGS, 300, may_close=True)  # symbol 300 leads on, and is no byte
    base = tables.lexers.add_dfa(dfa)
    for state in range(1, dfa.num_states):
        leading = [byte for byte in range(256) if dfa.step(state, byte)]
        assert tables.lexers.num_leading(base + state) == len(leading)


def test_states_know_their_bounds_of_characters():
    tables = AutomatonTables()
    start = tables.lexers.add_dfa(after_dfa()) + 1

    def add(**bounds: int) -> int:
        return tables.add_state(lexer_start=start, num_labels=3, is_final=False, **bounds)

    states = [add(), add(count_min=2), add(count_max=0), add(count_min=1, count_max=9)]
    bounds = [tables.count_bounds(state) for state in states]
    assert bounds == [(0, None), (2, None), (0, 0), (1, 9)]


def test_actions_and_resumes_are_missing_until_they_are_written():
    tables = AutomatonTables()
    start = tables.lexers.add_dfa(after_dfa()) + 1
    states = [
        tables.add_state(
            lexer_start=start, num_labels=3, is_final=False, full_outcome=(1 << 200) - 1
        )
        for _ in range(100)
    ]
    assert states == list(range(1, 101))
    state = states[50]
    actions: list[Action] = [Goto(3), Push(4, 5), Pop(1 << 199)]
    assert [tables.action(state, label) for label in (1, 2, 3)] == [None] * 3
    for label, action in enumerate(actions, start=1):
        tables.set_action(state, label, action)
    assert [tables.action(state, label) for label in (1, 2, 3)] == actions
    tables.set_action(states[0], 1, Dead())
    assert tables.action(states[0], 1) == Dead()
    assert tables.resume(state, (1 << 200) - 1) == state
    for outcome in range(1, 6):
        assert tables.resume(state, outcome) is None
        tables.set_resume(state, outcome, outcome + 10)
    assert [tables.resume(state, outcome) for outcome in range(1, 6)] == [11, 12, 13, 14, 15]
    assert tables.resume(states[51], 1) is None


def test_actions_may_be_written_as_the_state_is_made():
    tables = AutomatonTables()
    hidden = tables.add_state(lexer_start=0, num_labels=3, is_final=False, window=0b101)
    state = tables.add_state(
        lexer_start=0,
        num_labels=4,
        is_final=False,
        goto_labels=0b1001,
        goto_target=7,
        pop_labels=0b10,
        pop_outcome=1 << 99,
    )
    assert [tables.action(hidden, label) for label in (1, 2, 3)] == [None, Dead(), None]
    actions = [tables.action(state, label) for label in (1, 2, 3, 4)]
    assert actions == [Goto(7), Pop(1 << 99), None, Goto(7)]
    assert [tables.has_action(state, label) for label in (1, 2, 3)] == [True, True, False]


def test_tables_over_their_budget_are_refused():
    empty = AutomatonTables().memory_bytes
    tables = AutomatonTables(max_bytes=empty + 4000)
    tables.add_state(lexer_start=0, num_labels=10, is_final=True)
    with pytest.raises(LimitExceededError) as refused:
        tables.add_state(lexer_start=0, num_labels=100, is_final=True)
    assert str(refused.value) == (
        f"the automaton of this grammar needs more than max_table_bytes={empty + 4000}; "
        "simplify it or raise the limit"
    )
