"""GBNF: what a grammar accepts, and what each mistake in one is told."""

from __future__ import annotations

import pytest

from grammars.errors import GrammarError, LimitExceededError, UnsatisfiableError
from grammars.spec import Cfg
from tests.support.cfg_judge import CfgJudge


@pytest.mark.parametrize(
    ("text", "accepts", "rejects"),
    [
        ('root ::= "a" "b"', ["ab"], ["", "a", "abc"]),
        (r'root ::= "\n\t\r\"\\\x41\u00e9\U0001F600"', ['\n\t\r"\\Aé😀'], ["A"]),
        (r"root ::= [a-c\]x-]", ["a", "b", "]", "-"], ["d", "", "ab"]),
        (r"root ::= [^a-z\n]", ["A", "é", "😀"], ["a", "\n", ""]),
        ("root ::= .", ["a", "\n", "é"], ["", "ab"]),
        ('root ::= "a"* "b"+ "c"?', ["b", "aabbc"], ["a", "bcc"]),
        ('root ::= "a"{2} "b"{1,} "c"{0,2}', ["aab", "aabbcc"], ["ab", "aa", "aabccc"]),
        ('root ::= ("a" | "b" "c"){2,3}', ["aa", "bca", "abcbc"], ["a", "aaaa", "bb"]),
        ('root ::= "a" | ""', ["", "a"], ["aa"]),
        ('root ::= "a" |', ["", "a"], ["aa"]),
        ('root ::= (\n  "a" # a comment "x"\n  | "b"\n)\n', ["a", "b"], ["x"]),
        ('root ::=\n  "a" |\n  "b"\n  | "c"', ["a", "b", "c"], ["ab"]),
        ('# a comment\nroot ::= my-rule_2 # another\nmy-rule_2 ::= "x"', ["x"], [""]),
        ('root ::= "(" root ")" | "x"', ["x", "((x))"], ["(x", "x)", "()"]),
        ('root ::= root "a" | "b"', ["b", "baa"], ["a", "", "ab"]),
        ('root ::= e root "x" | "y"\ne ::= "" | "z"', ["y", "yx", "zyx", "zzyxx"], ["x", "zy"]),
        ('root ::= x | "a"\nx ::= y | "b"\ny ::= root', ["a", "b"], ["", "ab"]),
        ('root ::= root root | "a" | ""', ["", "a", "aaaaa"], ["b"]),
        ('root ::= [a-z]+ "b"', ["ab", "bb", "bbb", "abab"], ["b", "a"]),
        ('root ::= item item\nitem ::= "a" item "b" | [ab]+', ["ab", "aabb", "bb"], ["a", ""]),
        ('root ::= s "b"\ns ::= [a-z] s | [a-z]', ["ab", "bb", "abbb"], ["b", "ba"]),
        ('root ::= "a" loop | "b"\nloop ::= "x" loop', ["b"], ["a", "ax"]),
        ('root ::= [] | "b"', ["b"], [""]),
        ("root ::= [a-] [^a-] [a-] [^a-]", ["ab-c", "-xay"], ["aaaa", "-b-a"]),
        ('root ::= ((("a")*)+)?', ["", "aa"], ["b"]),
        ('root ::= "a"*+?', ["", "aa"], ["b"]),
        ('root ::= ""', [""], ["a"]),
        ('root ::= (root "a"){0,2} "b"', ["b", "bab", "babab", "bababab"], ["ba", "bb"]),
    ],
)
def test_a_grammar_accepts_exactly_its_texts(text, accepts, rejects):
    judge = CfgJudge(Cfg("gbnf", text))
    assert [t for t in accepts if not judge.accepts(t)] == []
    assert [t for t in rejects if judge.accepts(t)] == []


def test_what_can_never_be_finished_is_not_begun():
    judge = CfgJudge(Cfg("gbnf", 'root ::= "a" loop | "b"\nloop ::= "x" loop'))
    assert not judge.begins("a")


def test_groups_may_nest_deep_where_they_add_nothing():
    judge = CfgJudge(Cfg("gbnf", "root ::= " + "(" * 30_000 + '"a"' + ")" * 30_000))
    assert judge.accepts("a")


def test_a_text_of_endless_length_needs_no_more_than_its_rules():
    rules = "".join(f"r{i} ::= r{i + 1} r{i + 1}\n" for i in range(40))
    judge = CfgJudge(Cfg("gbnf", f'root ::= r0\n{rules}r40 ::= "a"'))
    assert judge.begins("a" * 100)
    assert not judge.accepts("a" * 100)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "rule root: there is no such rule, in which texts begin; write 'root ::= ...'"),
        (
            'a ::= "x"',
            "rule root: there is no such rule, in which texts begin; write 'root ::= ...'",
        ),
        ("root ::= no", "line 1, column 10: the rule 'no' is not defined; define it once"),
        (
            'root ::= "a"\nroot ::= "b"',
            "line 2, column 1: the rule 'root' is defined twice; join the two with '|'",
        ),
        ('root ::= "a', "line 1, column 10: the literal is never closed; add '\"'"),
        ("root ::= [a-z", "line 1, column 10: the class is never closed; add ']'"),
        ('root ::= ("a"', "line 1, column 10: the group is never closed; add ')'"),
        ('root ::= "a")', "line 1, column 13: ')' closes no group; remove it"),
        ("root ::= *", "line 1, column 10: the repetition has nothing to repeat before it"),
        (
            'root ::= "a"{,2}',
            "line 1, column 13: malformed repetition; write {m}, {m,} or {m,n} with digits",
        ),
        ('root ::= "a"{3,2}', "line 1, column 13: the bounds of the repetition are out of order"),
        ("root ::= [z-a]", "line 1, column 11: the range of the class is out of order"),
        (
            r'root ::= "\q"',
            r"line 1, column 11: unknown escape '\q'; there are \n \t \r \" \\ \[ \] \xHH \uHHHH "
            r"\UHHHHHHHH",
        ),
        (r'root ::= "\x4"', r"line 1, column 11: '\x' needs 2 hexadecimal digits"),
        (r'root ::= "\ud800"', r"line 1, column 11: '\ud800' is no character of Unicode"),
        (r'root ::= "\U00110000"', r"line 1, column 11: '\U00110000' is no character of Unicode"),
        (
            "root ::= <think>",
            "line 1, column 10: references to tokens (<...>) are not supported; write their text",
        ),
        ('root = "a"', "line 1, column 6: expected '::=' after the name 'root'"),
        (
            'root ::= "a"\n"b"',
            "line 2, column 1: expected the name of a rule before '\"'; rules are 'name ::= ...'",
        ),
        (
            "root ::= $",
            "line 1, column 10: unexpected '$'; an element is a rule's name, a literal in double "
            "quotes, a class in [], '.' or a group in ()",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place_and_the_way_out(text, message):
    with pytest.raises(GrammarError) as caught:
        CfgJudge(Cfg("gbnf", text))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text", ["root ::= root", "root ::= a\na ::= root", 'root ::= "a" root', "root ::= []"]
)
def test_a_grammar_without_a_text_is_refused(text):
    with pytest.raises(UnsatisfiableError, match="rule root: no text of finite length matches"):
        CfgJudge(Cfg("gbnf", text))


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (f'root ::= "{"a" * 2**21}"', "max_grammar_chars"),
        ('root ::= "a"{1000000000}', "max_states"),
        ('root ::= (("a"{1000}){1000}){1000}', "max_states"),
        ('root ::= x{1000000000}\nx ::= "a" | "(" x ")"', "max_states"),
        ('root ::= ((x{1000}){1000}){1000}\nx ::= "a" | "(" x ")"', "max_states"),
        ("root ::= " + '("b" | "a" ' * 5_000 + ")" * 5_000, "max_grammar_depth"),
        ('root ::= "a"' + "{2}" * 5_000, "max_grammar_depth"),
    ],
)
def test_a_budget_is_named(text, limit):
    with pytest.raises(LimitExceededError, match=limit):
        CfgJudge(Cfg("gbnf", text))
