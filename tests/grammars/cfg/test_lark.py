"""Lark: what a grammar accepts, and what each mistake in one is told."""

from __future__ import annotations

import json

import pytest

from grammars.errors import GrammarError, LimitExceededError
from grammars.spec import Cfg
from tests.support.cfg_judge import CfgJudge

EXPRESSION = """
// OpenAI's own example has this shape
start: expr
expr: term (SP ADD SP term)* -> add
    | term
term: factor (SP MUL SP factor)* -> mul
    | factor
factor: INT
SP: " "
ADD: "+"
MUL: "*"
%import common.INT
"""


EDIT = """
start: head change+ "=== end" LF?
head: "=== edit " path LF
path: /(.+)/
change: "@@" place? LF line+
place: " " /(.+)/
line: ("+" | "-" | " ") /(.*)/ LF
%import common.LF
"""


@pytest.mark.parametrize("in_json_string", [False, True])
def test_the_edit_of_a_file_is_written_line_by_line(in_json_string):
    judge = CfgJudge(Cfg("lark", EDIT, in_json_string=in_json_string))
    text = '=== edit a/b.py\n@@ class "X"\n a\n-b\\n\n+\n@@\n+é\n=== end'
    for candidate, is_whole in ((text, True), (text + "\n", True), (text[:-4], False)):
        spelled = json.dumps(candidate, ensure_ascii=False)[1:-1] if in_json_string else candidate
        assert judge.begins(spelled)
        assert judge.accepts(spelled) == is_whole


@pytest.mark.parametrize(
    ("text", "accepts", "rejects"),
    [
        ('start: "a" "b"', ["ab"], ["", "a"]),
        (r'start: "\n\x41\u00e9\"\\/"', ['\nAé"\\/'], ["A"]),
        ('start: "ab"i', ["ab", "AB", "aB"], ["a"]),
        ("start: /[a-c]+/i", ["ab", "AbC"], ["d", ""]),
        ("start: /a.b/", ["axb", "a\rb"], ["a\nb"]),
        ("start: /(?i)[a-c]+/", ["a", "AbC"], ["d"]),
        ("start: /a.b/s", ["axb", "a\nb"], ["ab"]),
        (r"start: /a\/b(?P<n>c|d)/", ["a/bc", "a/bd"], ["a/b"]),
        (r"start: /[\w.-]+@[^@\n]/", ["a.b-c@d"], ["@d"]),
        ('start: "a".."c"', ["a", "b", "c"], ["d", ""]),
        ('start: "a"~2 "b"~1..2', ["aab", "aabb"], ["ab", "aabbb"]),
        ('start: "a" ["b"] ("c" | "d")* "e"?', ["a", "ab", "acd", "abe"], ["b", "ae e"]),
        ('start: "a" |', ["a", ""], ["aa"]),
        ('start:\n  | "a"\n  | "b"', ["", "a", "b"], ["ab"]),
        ('start:\n    "a"\n\n    | "b" -> other\n', ["a", "b"], ["ab"]),
        ('start: (\n "a" // one\n | "b"\n)', ["a", "b"], [""]),
        ('start: x\n!x.2: "a" | _y\n_y: "b"', ["a", "b"], ["ab"]),
        ('start: start "a" | "b"', ["b", "baa"], ["a"]),
        ('start: start start | "a" |', ["", "a", "aaa"], ["b"]),
        ('start: A B\nA: "a" | C+\nB: "b" | A "-"\nC: "c"~2', ["ab", "ccb", "cca-"], ["cb"]),
        ('start: _X\n_X: "x"\nUNUSED: "y"', ["x"], ["y"]),
        ('start: WORD ("," WORD)*\nWORD: /[a-z]+/\n%ignore " "', ["a , b", "a,b"], [" a", "a "]),
        ("start: A A\nA: /[a-z]+/\n%ignore /[ \\n]+/", ["a b", "ab \n c"], ["ab", "a b c"]),
        ('start: IF A | A\nIF: "if"\nA: /[a-z]+/\n%ignore " "', ["if x", "if", "iffy"], ["if x y"]),
        ('%import common (INT, CNAME)\nstart: CNAME "=" INT', ["a_1=12"], ["1=1", "a=b"]),
        ("%import common.INT -> N\nstart: N", ["12"], ["", "a"]),
        ("%import common.ESCAPED_STRING\nstart: ESCAPED_STRING", ['"a\\"b"'], ['"a', '"\n"']),
        ("%import common.C_COMMENT\nstart: C_COMMENT", ["/* a * b **/"], ["/* */ */", "/*/"]),
        (EXPRESSION, ["1", "1 + 2 * 33"], ["1+2", "1 +", "", " 1"]),
    ],
)
def test_a_grammar_accepts_exactly_its_texts(text, accepts, rejects):
    judge = CfgJudge(Cfg("lark", text))
    assert [t for t in accepts if not judge.accepts(t)] == []
    assert [t for t in rejects if judge.accepts(t)] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "rule start: there is no such rule, in which texts begin; write 'start: ...'"),
        ("start: y", "line 1, column 8: the rule 'y' is not defined; define it once"),
        (
            "start: X",
            "line 1, column 8: the terminal 'X' is not defined; define it once, or import it",
        ),
        (
            'start: "a"\nstart: "b"',
            "line 2, column 1: the rule 'start' is defined twice; join the two with '|'",
        ),
        (
            'start: A\nA: "a"\nA: "b"',
            "line 3, column 1: the terminal 'A' is defined twice; join the two with '|'",
        ),
        (
            "start: A\nA: B\nB: A",
            "line 2, column 4: the terminal 'B' refers to itself; make it a rule (lower case)",
        ),
        (
            'start: A\nA: x\nx: "a"',
            "line 2, column 4: a terminal cannot refer to the rule 'x'; make that a terminal",
        ),
        ('start: "a', "line 1, column 8: the string is never closed; add '\"'"),
        ("start: /a", "line 1, column 8: the regular expression is never closed; add '/'"),
        ('start: ("a"', "line 1, column 8: the group is never closed; add ')'"),
        ('start: ["a")', "line 1, column 12: ')' closes no group; remove it"),
        ("start: *", "line 1, column 8: the repetition has nothing to repeat before it"),
        ('start: "a"~x', "line 1, column 11: malformed repetition; write ~n or ~n..m"),
        ('start: "a"~3..2', "line 1, column 11: the bounds of the repetition are out of order"),
        (
            'start: "b".."a"',
            'line 1, column 8: a range is written "a".."z", of two characters in order',
        ),
        (
            r'start: "\q"',
            r"line 1, column 8: unknown escape '\q' in a string; there are \n \t \r \f \\ \" \xHH "
            r"\uHHHH \UHHHHHHHH",
        ),
        (
            "Start: X",
            "line 1, column 1: expected a rule, a terminal or a directive before 'S'; "
            "statements are 'name: ...', 'NAME: ...' and '%ignore ...'",
        ),
        ('start "a"', "line 1, column 7: expected ':' after the name 'start'"),
        (
            'start: two{"a"}\ntwo{x}: x x',
            "line 1, column 8: templates (two{...}) are not supported; write the rule out",
        ),
        (
            "%declare X\nstart: X",
            "line 1, column 1: the directive '%declare' is not supported; there are %ignore and "
            "%import common.NAME",
        ),
        (
            "%import python.STRING\nstart: STRING",
            "line 1, column 1: the module 'python.STRING' cannot be imported; there is 'common' "
            "only",
        ),
        (
            'start: "a" -> \n',
            "line 1, column 12: expected a name after '->'",
        ),
        (
            "start: <think>",
            "line 1, column 8: '<' (tokens, nested grammars, intersections) is not supported; "
            "write rules and terminals",
        ),
        (
            "start: /a/x",
            "line 1, column 8: the flag 'x' of a regular expression is not supported; there are "
            "i, m, s and u",
        ),
        (
            "start: /a.*?b/",
            "line 1, column 8: the lazy repetition '*?' in a regular expression; the longest match "
            "is taken, so name what the text may not hold",
        ),
        (
            "start: /^a/",
            "line 1, column 8: the anchor '^' in a regular expression; a terminal is matched as a "
            "whole",
        ),
        (
            "start: /[]a]/",
            "line 1, column 8: ']' first in a class, or set notation in a regular expression; "
            "escape ']' and write plain ranges",
        ),
        (
            "start: /[^a]/i",
            "line 1, column 8: the flag 'i' together with a negated class is not supported; write "
            "both cases",
        ),
        (
            "start: /a(?=b)/",
            "a terminal: an anchor, a word boundary or a lookaround reads no text and is not "
            "supported in a grammar; write the terminal without it",
        ),
        (
            'start: A | B\nA.2: "if"\nB: /[a-z]+/',
            "terminal A: it shares a text with B and differs from it in priority, which is not "
            "supported: every reading of a text counts; make their texts distinct",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place_and_the_way_out(text, message):
    with pytest.raises(GrammarError) as caught:
        CfgJudge(Cfg("lark", text))
    assert str(caught.value) == message


def test_priorities_of_terminals_without_a_common_text_change_nothing():
    assert CfgJudge(Cfg("lark", 'start: A | B\nA.2: "a"\nB.-1: "b"')).accepts("b")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ('start: A\nA: "a"~1000000000', "max_terminal_copies"),
        (
            "start: A0\n" + "".join(f"A{i}: A{i + 1} A{i + 1}\n" for i in range(40)) + 'A40: "a"',
            "max_terminal_copies",
        ),
        ("start: " + '("b" | "a" ' * 5_000 + ")" * 5_000, "max_grammar_depth"),
        (
            "start: A0\n"
            + "".join(f'A{i}: "a" | "b" A{i + 1}\n' for i in range(5_000))
            + 'A5000: "a"',
            "max_grammar_depth",
        ),
    ],
)
def test_a_budget_is_named(text, limit):
    with pytest.raises(LimitExceededError, match=limit):
        CfgJudge(Cfg("lark", text))
