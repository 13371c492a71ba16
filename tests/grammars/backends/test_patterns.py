"""Patterns rewritten for the peers keep their ECMA-262 meaning; Python's `re` reads the result."""

from __future__ import annotations

import re

import pytest

from grammars.backends.patterns import choice_regex, json_string_regex, plain_regex, search_regex
from grammars.errors import InvalidGrammarError, UnsupportedError


@pytest.mark.parametrize(
    ("pattern", "accepts", "rejects"),
    [
        (r"\d+", ["0", "42"], ["", "x", "٣"]),
        (r"\w\W", ["a-", "_é"], ["é-", "--"]),
        (r"\s\S", ["\ufeffx", "\u2003x"], ["xx", "x\ufeff"]),
        (r".", ["a", "\x85", "🙂"], ["\n", "\r", "\u2028", ""]),
        (r"[\s\S]{2}", ["\n\n", "a🙂"], ["a"]),
        (r"[^]", ["a", "\n"], [""]),
        (r"(?<year>\d{4})-(?:0[1-9]|1[0-2])", ["2024-12"], ["2024-13", "24-12"]),
        (r"^a|b$", ["a", "b"], ["ab", ""]),
        (r"a+?b*?", ["a", "aab"], ["b"]),
        (r"\u{1F642}\x41\cJ\/", ["🙂A\n/"], ["🙂A/"]),
        (r"[\]\\^-]+", ["]\\^-"], ["a"]),
        (r"\p{Lu}x", ["Éx", "Ax"], ["éx", "1x"]),
        ("", [""], ["a"]),
    ],
)
def test_a_rewritten_regex_matches_as_a_whole(pattern, accepts, rejects):
    regex = re.compile(plain_regex(pattern))
    assert [text for text in accepts if not regex.fullmatch(text)] == []
    assert [text for text in rejects if regex.fullmatch(text)] == []


@pytest.mark.parametrize(
    ("pattern", "accepts", "rejects"),
    [
        ("b", ["b", "abc"], ["", "ac"]),
        ("^b", ["b", "bc"], ["ab"]),
        ("b$", ["b", "ab"], ["bc"]),
        ("^a|b$", ["ac", "cb"], ["ca", "bc", ""]),
        ("^[a-c]{2}$", ["ab"], ["abc", "a"]),
    ],
)
def test_a_pattern_is_searched_for(pattern, accepts, rejects):
    for rewrite in (search_regex, json_string_regex):
        regex = re.compile(rewrite(pattern))
        assert [text for text in accepts if not regex.fullmatch(text)] == []
        assert [text for text in rejects if regex.fullmatch(text)] == []


@pytest.mark.parametrize("pattern", ["a", "^.*$", r"^[^x]+$", r"^[\s\S]*$", r"^[!-~]+$"])
def test_what_json_must_escape_stays_out_of_strings(pattern):
    regex = re.compile(json_string_regex(pattern))
    assert regex.fullmatch("a")
    assert not any(regex.fullmatch(f"a{char}a") for char in '"\\\n\x00\x1f')


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(^b)", "an anchor inside the pattern is not enforced by this backend; "),
        ("(a$)+b", "an anchor inside the pattern is not enforced by this backend; "),
        ('^"$', "the pattern needs a character that JSON writes only as an escape, "),
    ],
)
def test_what_peers_cannot_share_is_refused(pattern, message):
    with pytest.raises(UnsupportedError) as error:
        json_string_regex(pattern)
    assert error.value.reason.startswith(message)
    assert error.value.keyword == "pattern"


def test_choices_are_quoted_and_at_least_one():
    regex = re.compile(choice_regex(["a.b", "(x|y)", "é", "[^]"]))
    assert all(map(regex.fullmatch, ["a.b", "(x|y)", "é", "[^]"]))
    assert not any(map(regex.fullmatch, ["axb", "x", ""]))
    with pytest.raises(InvalidGrammarError, match="at least one option"):
        choice_regex([])
