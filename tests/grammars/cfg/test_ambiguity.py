"""Ambiguous grammars: what grows with the parses elsewhere stays small, or ends by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from grammars.cfg import simulation
from grammars.cfg.lexers import LexerTable
from grammars.cfg.simulation import Simulation
from grammars.cfg.terminal_pool import Union
from grammars.compile import compile_grammar
from grammars.errors import LimitExceededError
from grammars.limits import CompileLimits
from grammars.pushdown.cfg_states import CfgStates
from grammars.spec import Cfg
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.cfg_judge import CfgJudge
from tests.support.counted_calls import CountedCalls
from tests.support.python_calls import PythonCalls
from tests.support.tokenizers import real_vocabulary

if TYPE_CHECKING:
    from grammars.masks.matcher import Matcher


@pytest.mark.parametrize(
    "text",
    [
        'root ::= s\ns ::= s s | "a"',
        'root ::= s\ns ::= s s s | s s | "a"',
        'root ::= root root | "a" | ""',
        'root ::= s\ns ::= s s s s | s t | "a" | ""\nt ::= t s | s s t | "a"',
        'root ::= s\ns ::= s "a" s | "a" | s s',
        'root ::= e\ne ::= e "a" e | e "b" e | "(" e ")" | "a"',
        'root ::= (root root)* "a" | root*',
    ],
)
def test_equal_continuations_are_one_so_the_states_do_not_grow_with_the_text(text):
    judge = CfgJudge(Cfg("gbnf", text))
    judge.begins("a" * 20)
    num_states = judge.tables.num_states
    assert judge.begins("a" * 400)
    assert judge.tables.num_states == num_states
    assert num_states <= 12


def test_left_recursion_and_tail_calls_put_nothing_on_the_stack():
    for rule in ('root "a" | "a"', '"a" root | "a"', '"a" (root | "")'):
        judge = CfgJudge(Cfg("gbnf", f'root ::= {rule} | "(" root ")"'))
        judge.begins("a" * 5)
        num_states = judge.tables.num_states
        assert judge.accepts("a" * 200)
        assert judge.tables.num_states == num_states


def test_what_must_grow_grows_by_one_state_a_character():
    judge = CfgJudge(Cfg("gbnf", 'root ::= "a" root "a" | "b" root "b" | ""'))
    assert judge.accepts("ab" * 60 + "ba" * 60)
    assert judge.tables.num_states < 300


def test_a_text_that_is_too_ambiguous_ends_with_an_error_that_names_the_limit():
    limits = CompileLimits(max_parse_items=50)
    judge = CfgJudge(Cfg("gbnf", 'root ::= "a" root "a" | "b" root "b" | ""'), limits)
    assert judge.accepts("ab" * 5 + "ba" * 5)
    with pytest.raises(LimitExceededError) as caught:
        judge.begins("a" * 200)
    assert str(caught.value) == (
        "a text of this ambiguous grammar needs more than max_parse_items=50; simplify it or raise "
        "the limit"
    )


def test_a_text_that_ends_by_a_limit_leaves_the_grammar_to_others():
    limits = CompileLimits(max_parse_items=20)
    grammar = compile_grammar(Cfg("gbnf", 'root ::= "a" root "a" | "a"'), byte_vocabulary(), limits)
    spoiled, good = grammar.matcher(), grammar.matcher()
    with pytest.raises(LimitExceededError):
        [spoiled.accept_token(ord("a")) for _ in range(100)]
    assert all(good.accept_token(byte) for byte in b"aaaaa")
    assert good.is_complete


def test_what_is_compared_at_one_place_is_bounded(monkeypatch):
    compared = CountedCalls(monkeypatch, Simulation, "_stands")
    places = CountedCalls(monkeypatch, CfgStates, "expand_action")
    judge = CfgJudge(Cfg("gbnf", 'root ::= "z" | ' + 'root "a" ' * 200))
    assert judge.begins("za" * 8)
    assert compared.num_calls > places.num_calls
    # At a place items are completed, and the frames of what they call are reduced.
    assert compared.num_calls <= 2 * (places.num_calls + 1) * simulation.MAX_PAIRS_AT_ONCE


def test_a_lexer_is_not_looked_at_past_the_states_in_which_it_is_cut(monkeypatch):
    opened = CountedCalls(monkeypatch, Union, "places")
    lexers = CountedCalls(monkeypatch, LexerTable, "_build")
    judge = CfgJudge(Cfg("gbnf", 'root ::= "a"{2,800} root "b" | "a"{2,900}'))
    assert judge.begins("a" * 20)
    assert opened.num_calls <= 3 * lexers.num_calls


ALIKE = "".join(f' | [a-{last}]* root "{last}" root' for last in "bcdefghijklmnop")
ENDED_ALIKE = "".join(f' | [a-z]* "{last}" root [a-z]* "{last}"' for last in "abcdefghijklmnopqrst")
MAYBE_EMPTY = " ".join(f"n{i}" for i in range(12)) + ' "."\n' + "\n".join(
    f'n{i} ::= "{"abcd"[i % 4]}"? root?' for i in range(12)
)  # fmt: skip
DOUBLED = "a0\n" + "\n".join(f'a{i} ::= a{i + 1} a{i + 1} | "b{i}"' for i in range(900))
MANY_WORDS = "(" + " | ".join(f"w{i}" for i in range(1500)) + ")*\n" + "\n".join(
    f'w{i} ::= "word{i} " [a-z]+ w{(i + 1) % 1500}?' for i in range(1500)
)  # fmt: skip


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(f'"z"{ALIKE}', id="options that are alike"),
        pytest.param(f'"z"{ENDED_ALIKE}', id="options that end in different ways"),
        pytest.param(MAYBE_EMPTY, id="rules that may be empty"),
        pytest.param(f'{DOUBLED}\na900 ::= "a" | root', id="rules that double"),
        pytest.param(MANY_WORDS, id="many options"),
    ],
)
def test_what_the_tokens_at_one_place_make_is_bounded(rules):
    limits = CompileLimits(max_step_work=5_000, max_parse_items=4_000)
    grammar = compile_grammar(Cfg("gbnf", f"root ::= {rules}"), real_vocabulary("smollm2"), limits)
    with PythonCalls() as python, pytest.raises(LimitExceededError) as caught:
        read_on(grammar.matcher(), python)
    assert str(caught.value) == (
        "what tokens at one place of a text may do needs more than max_step_work=5000; simplify it "
        "or raise the limit"
    )
    assert python.num_calls <= 20 * limits.max_step_work


def read_on(matcher: Matcher, python: PythonCalls) -> None:
    """Read token after token; what is counted are the calls of the last step."""
    for _ in range(20):
        python.num_calls = 0
        allowed = matcher.allowed_token_ids()
        python.num_calls = 0
        assert matcher.accept_token(allowed[len(allowed) // 2])


def test_options_that_are_rules_share_what_follows_them():
    options = range(300)
    rules = [f'r{i} ::= "b{i}(" root ")" | "c"' for i in options]
    text = "\n".join(["root ::= " + " | ".join(f"r{i}" for i in options), *rules])
    judge = CfgJudge(Cfg("gbnf", text), CompileLimits(max_parse_items=1_000))
    assert judge.accepts("b7(b299(b42(c)))")
    assert not judge.begins("b7(b299(b42(c))))")


@pytest.mark.parametrize(("max_step_work", "num_forced"), [(3_000, 0), (1_000_000, 256)])
def test_what_must_follow_is_not_looked_for_at_any_price(max_step_work, num_forced):
    rules = [f"a{i} ::= a{i + 1} a{i + 1}" for i in range(10)]
    text = "\n".join(["root ::= a0", *rules, 'a10 ::= "a" | root'])
    limits = CompileLimits(max_step_work=max_step_work)
    matcher = compile_grammar(Cfg("gbnf", text), byte_vocabulary(), limits).matcher()
    assert matcher.forced_tokens() == [ord("a")] * num_forced
    assert matcher.allowed_token_ids() == [ord("a")]
