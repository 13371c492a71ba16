"""Brackets: which pairs are frames, and that frames change nothing about texts and masks."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from grammars.cfg.brackets import find_brackets
from grammars.cfg.follow import live_bytes
from grammars.cfg.network import build_network
from grammars.cfg.spelling import UTF8
from grammars.cfg.steps import CfgSteps, read_grammar
from grammars.compile import compile_grammar
from grammars.errors import UnsatisfiableError, UnsupportedError
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.cfg_states import CfgStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Cfg, Embed, JsonSchema, Literal, Sequence, Structure
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.cfg_judge import CfgJudge
from tests.support.earley import recognises
from tests.support.grammar_texts import TextJudge
from tests.support.random_grammars import grammars, productions, written
from tests.support.tokenizers import real_vocabulary

GRAMMARS = Path(__file__).resolve().parents[2] / "data" / "grammars"
SHORT_TEXTS = ["".join(text) for size in range(5) for text in product("ab()[]", repeat=size)]
BRACKETS = ("()", "[]")


def _brackets(text: str, syntax: str = "lark") -> str:
    """The pairs of a grammar that are frames, as they are written."""
    spec = Cfg("lark" if syntax == "lark" else "gbnf", text)
    network = build_network(read_grammar(spec), CompileLimits(), frozenset(), UTF8)
    found = find_brackets(network, [live_bytes(dfa, dfa.start) for dfa in network.terminals])
    names = [network.texts[i].name.strip('"') for i in [*found.opening, *found.closing]]
    return "".join(sorted(names))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('start: "a" | "(" start ")" | "[" [start ("," start)*] "]" | "{" "}"', "()[]{}"),
        ('start: "a" | OPEN start CLOSE\nOPEN: "("\nCLOSE: ")"', "CLOSEOPEN"),
        ('start: "x" "(" args\nargs: "x" ")"', ""),  # closed by another rule
        ('start: "(" ["x" ")"]', ""),  # closed on some ways only
        ('start: "(" "x"* ")" | "[" "x"+ ")"', ""),  # as many of each, but not of each pair
        ('start: "(" start ")" | "x" | "x" ")" "("', ""),  # closed before it is opened
        ('start: x "<" x | "<" x ">"\nx: "x"', ""),  # a sign, too
        ('start: "(" start ")" | "(*" /[a-z]+/ "*)" | "x"', ""),  # others begin like it
        ('start: "(" start ")" | /\\)?x/', ""),
        ('start: "(" start ")" | /"[()]*"/', "()"),  # inside of another it is none
        ('start: ("(" "x" ")")~1..3 "(" ")"', "()"),
    ],
)
def test_a_pair_is_a_frame_if_every_rule_closes_what_it_opens(text, expected):
    assert _brackets(text) == expected


def test_without_a_lexer_nothing_is_a_frame():
    assert _brackets('root ::= "a" | "(" root ")"', "gbnf") == ""


@pytest.mark.parametrize(
    "text",
    [
        'start: "a" | "(" start ")"',
        'start: "a" | "(" start ")" | "(" start "," start ")"',
        'start: start "+" start | "(" start ")" | "a" | "f" "(" [start ("," start)*] ")"',
        'start: x y\nx: "(" x y ")" | "a"\ny: "[" y x "]" | "a" | "(" y x ")"',
    ],
)
def test_states_do_not_grow_with_the_depth_of_brackets(text):
    frames, plain = (CfgJudge(Cfg("lark", text), is_plain=is_plain) for is_plain in (False, True))
    frames.begins("(" * 10 + "a" + ")" * 9)
    num_states = frames.tables.num_states
    for depth in (20, 60):
        whole = "(" * depth + "a"
        for end in range(depth):
            assert frames.begins(whole + ")" * end) == plain.begins(whole + ")" * end)
    assert frames.tables.num_states == num_states
    assert num_states < 30 < plain.tables.num_states


@pytest.mark.parametrize(
    "text",
    [
        'start: x "+" | y "-"\nx: "(" "a" ")"\ny: "(" ("b" | "a" "a") ")"',
        'start: x "+" | y "-"\nx: "(" z ")"\ny: "(" z+ ")"\nz: "a" | x | y',
        'start: "(" "a" ")" "+" | "(" ("a" | "b") ")" "-" | "(" start ")"',
        'start: ("(" "a" ")" | "(" "b" ")")~2 | x x "+"\nx: "(" [x] ")"',
        'start: x | y\nx: "(" [x "+"] ")"\ny: "(" [y "-"] ")" | "(" y ")" "-" | "(" x y ")"',
        'start: start start | "(" start ")" | "(" start ")" "+" | "a"',
    ],
)
def test_only_what_has_ended_in_brackets_goes_on_after_them(text):
    frames, plain = (CfgJudge(Cfg("lark", text), is_plain=is_plain) for is_plain in (False, True))
    beginnings = [""]
    num_accepted = 0
    for beginning in beginnings:
        for following in "()ab+-" if len(beginning) < 8 else "":
            begins = plain.begins(beginning + following)
            assert frames.begins(beginning + following) == begins
            if begins:
                beginnings.append(beginning + following)
        assert frames.accepts(beginning) == plain.accepts(beginning)
        num_accepted += plain.accepts(beginning)
    assert num_accepted > 1


@settings(max_examples=50, deadline=None)
@given(grammars(BRACKETS), st.lists(st.text("ab()[]", min_size=5, max_size=12), max_size=5))
def test_frames_for_brackets_change_no_text(grammar, texts):
    spec = written(grammar, "lark")
    try:
        judge = CfgJudge(spec)
    except (UnsatisfiableError, UnsupportedError):
        reject()
    plain = CfgJudge(spec, is_plain=True)
    rules = productions(grammar)
    for text in [*SHORT_TEXTS, *texts]:
        assert judge.begins(text) == plain.begins(text)
        assert judge.accepts(text) == plain.accepts(text)
        assert not judge.accepts(text) or recognises(rules, "root", text)


@settings(max_examples=50, deadline=None)
@given(grammars(BRACKETS), st.integers(0, 2**32 - 1))
def test_what_is_written_by_chance_is_a_text_without_frames_too(grammar, seed):
    spec = written(grammar, "lark")
    try:
        grammar = compile_grammar(spec, byte_vocabulary())
    except (UnsatisfiableError, UnsupportedError):
        reject()
    plain = CfgJudge(spec, is_plain=True)
    random = np.random.default_rng(seed)
    matcher, text = grammar.matcher(), ""
    for _ in range(24):
        allowed = matcher.allowed_token_ids()
        assert {chr(token) for token in allowed if token < 256} == {
            letter for letter in "ab()[]c" if plain.begins(text + letter)
        }
        token = int(random.choice(allowed))
        assert matcher.accept_token(token)
        if matcher.is_terminated:
            break
        text += chr(token)
        assert matcher.is_complete == plain.accepts(text)


DEEP = {
    "json": '[[{"a": [[1, {"b": [[], [2, {"c": {"d": [true]}}]]}]], "e": {}}]]',
    "arithmetic": "x = -((1 + f(y, (2 - g(3, (z))) * 2)) ^ (((4)))) * f(f(f(a, b), c))",
    "sql": "SELECT a FROM t WHERE NOT (b IN (SELECT c FROM u WHERE (d = 1 AND (e = 2 OR f = 3))));",
    "statements": (
        "DEF f(a) { IF (a) { WHILE (!(a < g(a, [b, [1]]))) { RETURN [[f(a)], (2)]; } } ELSE { } }"
    ),
}


@cache
def _grammar(name: str, *, is_plain: bool) -> AutomatonGrammar:
    spec = Cfg("lark", (GRAMMARS / f"{name}.lark").read_text(encoding="utf-8"))
    limits, tables = CompileLimits(), AutomatonTables()
    states = CfgStates(
        CfgSteps(spec, limits, frozenset(), tables.work), tables, limits, is_plain=is_plain
    )
    return AutomatonGrammar(tables, states, states.root, real_vocabulary("smollm2"))


@pytest.mark.parametrize("name", DEEP)
def test_masks_deep_in_brackets_are_those_without_frames(name):
    frames, plain = (_grammar(name, is_plain=flag).matcher() for flag in (False, True))
    for token in real_vocabulary("smollm2").encode(DEEP[name].encode()):
        allowed = frames.allowed_token_ids()
        assert allowed == plain.allowed_token_ids()
        assert token in allowed
        assert frames.accept_token(token)
        assert plain.accept_token(token)
    assert frames.is_complete
    assert plain.is_complete


@pytest.mark.parametrize("name", DEEP)
def test_masks_deep_in_brackets_are_the_same_inside_a_structure(name):
    """There the frames lie on one of the structure's."""
    vocabulary = real_vocabulary("smollm2")
    spec = Cfg("lark", (GRAMMARS / f"{name}.lark").read_text(encoding="utf-8"))
    part = Sequence((Literal("<|im_start|>"), Embed(spec), Literal("<|im_start|>")))
    inside = compile_grammar(Structure(part), vocabulary).matcher()
    alone = _grammar(name, is_plain=True).matcher()
    [tag] = inside.allowed_token_ids()
    assert inside.accept_token(tag)
    for token in vocabulary.encode(DEEP[name].encode()):
        allowed = inside.allowed_token_ids()
        ends = set(vocabulary.end_token_ids)
        assert set(allowed) - {tag} == set(alone.allowed_token_ids()) - ends
        assert (tag in allowed) == alone.is_complete
        assert inside.accept_token(token)
        assert alone.accept_token(token)
    assert inside.accept_token(tag)
    assert inside.is_complete


def test_states_do_not_grow_with_the_depth_of_brackets_inside_a_structure():
    spec = Cfg("lark", 'start: start "+" start | "(" start ")" | "a" | "(" start "," start ")"')
    judge = TextJudge(Sequence((Literal("<"), Embed(spec), Literal(">"))))
    judge.accepts("<" + "(" * 6 + "a" + ")" * 6 + ">")
    num_states = judge.tables.num_states
    for depth in (10, 40):
        nested = "(" * depth + "a" + ")" * depth
        assert judge.accepts(f"<{nested}>")
        assert not judge.accepts(f"<({nested}>")
        assert not judge.accepts(f"<{nested})>")
    assert judge.tables.num_states <= num_states + 2
    assert judge.accepts("<((a+a,(a))+(a),(a,a))>")


def test_texts_that_must_differ_go_along_with_brackets_of_a_grammar():
    lists = JsonSchema('{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}')
    spec = Cfg("lark", 'start: "x" | "(" start ")"')
    judge = TextJudge(Sequence((Embed(lists), Embed(spec), Literal(";"), Embed(lists))))
    assert judge.accepts("[1,2]((x));[2,1]")
    assert not judge.accepts("[1,1]((x));[2]")
    assert not judge.accepts("[1]((x));[2,2]")
    assert not judge.accepts("[1]((x);[2]")


def test_a_program_is_closed_from_anywhere_without_making_states_for_each_depth():
    """Without frames the search for an end went ever deeper, until the tables were full."""
    vocabulary = real_vocabulary("smollm2")
    grammar = _grammar("statements", is_plain=False)
    row = np.zeros(vocabulary.num_words, np.int32)
    tokens = vocabulary.encode(DEEP["statements"].encode())
    for place in range(0, len(tokens), 6):
        matcher = grammar.matcher()
        assert all(map(matcher.accept_token, tokens[:place]))
        tokens_left = matcher.min_tokens_to_complete()
        while not matcher.is_complete:
            matcher.fill_closing_bitmask(row, tokens_left)
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")
            assert matcher.accept_token(int(np.flatnonzero(bits)[0]))
            tokens_left -= 1
            assert matcher.min_tokens_to_complete() <= tokens_left
    assert grammar.num_states < 400


@pytest.mark.parametrize("name", DEEP)
def test_masks_of_walks_by_chance_are_those_without_frames(name):
    vocabulary = real_vocabulary("smollm2")
    random = np.random.default_rng(17)
    for _ in range(3):
        frames, plain = (_grammar(name, is_plain=flag).matcher() for flag in (False, True))
        for _ in range(30):
            allowed = frames.allowed_token_ids()
            assert allowed == plain.allowed_token_ids()
            opens = [t for t in allowed if vocabulary.token_bytes.get(t, b"")[-1:] in b"([{"]
            token = int(random.choice(opens if opens and random.random() < 0.4 else allowed))
            assert frames.accept_token(token)
            assert plain.accept_token(token)
            if frames.is_terminated:
                break
