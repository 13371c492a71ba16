"""The syntax of patterns: what each construct means, and which are refused."""

import pytest

from grammars.automata.pattern import parse_pattern
from grammars.automata.pattern_dfa import fullmatch, search
from grammars.errors import InvalidGrammarError, LimitExceededError, UnsupportedError


@pytest.mark.parametrize(
    ("pattern", "accepts", "rejects"),
    [
        ("", [""], ["a"]),
        ("ab*", ["a", "abb"], ["", "b", "aab"]),
        ("[^a]", ["b", "é", "\n"], ["a", "", "bb"]),
        ("x{2,3}", ["xx", "xxx"], ["x", "xxxx"]),
        ("x{2}y{1,}", ["xxy", "xxyyy"], ["xy", "xx"]),
        ("x{0}", [""], ["x"]),
        ("a+?b??", ["a", "aab"], ["", "b"]),
        ("(a)(?:b)(?<name>c)", ["abc"], ["ab"]),
        ("a|b|", ["a", "b", ""], ["ab"]),
        (".", ["a", "\u0085", "😀"], ["\n", "\r", "\u2028", "\u2029"]),
        (r"\d\w\s", ["0_ ", "9a\ufeff", "5Z\u2003"], ["٣a ", "0é ", "0a\u200b"]),
        (r"\D\W\S", ["a-b"], ["0-b", "aab", "a- "]),
        (r"\t\n\v\f\r\0\cA\x41\u0042\u{1F600}", ["\t\n\v\f\r\0\x01AB😀"], [""]),
        (r"\ud83d\ude00", ["😀"], ["\ud83d"]),
        (r"\ud83d", [], ["😀", ""]),
        (r"[\ud83d\ude00-\ud83d\ude02]", ["😀", "😂"], ["😃"]),
        (r"\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/", ["^$\\.*+?()[]{}|/"], [""]),
        (r"\-\_\@\"\'\ \#", ["-_@\"' #"], [""]),
        (r"[\w\-.]+", ["a-._"], ["a b"]),
        (r"[\w-.]+", ["a-._"], ["a b"]),
        (r"[a-]", ["a", "-"], ["b"]),
        (r"[-a]", ["a", "-"], ["b"]),
        (r"[\b]", ["\b"], ["b"]),
        ("[]", [], ["", "a"]),
        ("[^]", ["a", "\n"], [""]),
        ("}]{a", ["}]{a"], [""]),
        (r"\p{L}+", ["aéЖ漢"], ["1", "", "a1"]),
        (r"\p{Lu}\P{Lu}", ["Éé"], ["éÉ"]),
        (r"\p{Letter}\p{gc=Nd}\p{General_Category=Nd}", ["a1٣"], ["aab"]),
        (r"\p{Script=Greek}\p{sc=Grek}", ["αβ"], ["ab"]),
        (r"\p{Script_Extensions=Greek}", ["α"], ["a"]),
        (r"\p{Emoji_Presentation}\p{White_Space}\p{ASCII}", ["😀 a"], ["aaa"]),
        (r"[^\p{L}\d]", ["-"], ["a", "1"]),
        ("(?:(?:a|b){2}){2}", ["abab"], ["aba"]),
        ("(a*)*b", ["b", "aab"], ["a"]),
        ("(){1000000000}", [""], ["a"]),
    ],
)  # fmt: skip
def test_a_pattern_accepts_exactly_its_language(pattern, accepts, rejects):
    dfa = fullmatch(pattern)
    assert [text for text in accepts if not dfa.accepts(text)] == []
    assert [text for text in rejects if dfa.accepts(text)] == []


@pytest.mark.parametrize(
    ("pattern", "accepts", "rejects"),
    [
        ("b", ["b", "abc", "\nb"], ["", "ac"]),
        ("^b", ["b", "bc"], ["ab"]),
        ("b$", ["b", "ab"], ["bc", "b\n"]),
        ("^b$", ["b"], ["ab", "bc"]),
        ("^a|b$", ["ax", "xb", "a", "b"], ["xa", "bx"]),
        ("(^a|b)c$", ["ac", "xbc"], ["xac", "bcx"]),
        ("^(?:^a)$", ["a"], ["xa"]),
        ("a^b", [], ["ab", "a", "b", "a^b"]),
        ("a$b", [], ["ab"]),
        ("(?:a^b|c)$", ["c", "xc"], ["ab"]),
        ("$^", [""], ["a"]),
        ("(?:^|x)a(?:$|y)", ["a", "xa", "ay", "..xay.."], ["ba", "ab"]),
        ("(?:^)*a", ["a", "ba"], ["b"]),
        ("a(?:$)+", ["a", "ba"], ["ab"]),
        ("", ["", "anything"], []),
        (r"\S", ["a", " a "], ["", " \t"]),
    ],
)
def test_search_and_anchors_mean_what_ecma_262_says(pattern, accepts, rejects):
    dfa = search(pattern)
    assert [text for text in accepts if not dfa.accepts(text)] == []
    assert [text for text in rejects if dfa.accepts(text)] == []


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(", "offset 1: the group is never closed"),
        ("a)", "offset 1: ')' closes no group"),
        ("a[b", "offset 1: the character class is never closed"),
        ("a[b-", "offset 1: the character class is never closed"),
        ("[z-a]", "offset 1: the range of the character class is out of order"),
        ("*", "offset 0: a quantifier has nothing to repeat"),
        ("a**", "offset 2: a quantifier has nothing to repeat"),
        ("^*", "offset 1: a quantifier has nothing to repeat"),
        ("(?<=a)*", "offset 6: a quantifier has nothing to repeat"),
        (r"\b+", "offset 2: a quantifier has nothing to repeat"),
        ("(?=a", "offset 0: the group is never closed"),
        ("{2}", "offset 0: a quantifier has nothing to repeat"),
        ("a{3,2}", "offset 1: the numbers of the quantifier are out of order"),
        ("x{,5}", "offset 1: a quantifier needs a minimum, as in {0,5}"),
        ("\\", "offset 0: a backslash escapes nothing"),
        (r"a\Z", r"offset 1: unknown escape '\Z'"),
        (r"\c1", r"offset 0: unknown escape '\c'"),
        (r"\xg0", r"offset 0: unknown escape '\x'"),
        (r"\u12", r"offset 0: '\u' needs four hexadecimal digits or {...}"),
        (r"\u{110000}", "offset 0: the code point is greater than U+10FFFF"),
        (r"\p{Nope}", "offset 0: unknown property {Nope}"),
        (r"\p{Greek}", "offset 0: unknown property {Greek}"),
        (r"\p{Script=greek}", "offset 0: unknown property {Script=greek}"),
        (r"\pL", r"offset 0: '\p' needs {Property} or {Property=Value}"),
        (r"[\1]", r"offset 1: octal escapes do not exist; use \xHH"),
        (r"\012", r"offset 0: octal escapes do not exist; use \xHH"),
        ("(?P<a>b)", "offset 0: unknown kind of group after '(?'"),
        ("(?<1a>b)", "offset 0: '1a' is not a group name"),
        (r"\é", r"offset 0: unknown escape '\é'"),
    ],
)  # fmt: skip
def test_a_malformed_pattern_is_refused_with_its_offset(pattern, message):
    with pytest.raises(InvalidGrammarError) as caught:
        parse_pattern(pattern, pointer="/properties/a")
    assert caught.value.reason == f"the pattern is malformed at {message}"
    assert caught.value.pointer == "/properties/a"
    assert caught.value.keyword == "pattern"


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        (r"(a)\1", r"the backreference '\1' at offset 3"),
        (r"(?<n>a)\k<n>", r"the backreference '\k' at offset 7"),
        ("(?i:a)", "a group with modifiers at offset 0"),
        (r"\p{CWKCF}", "the property {CWKCF} at offset 0"),
    ],
)
def test_a_construct_that_is_not_enforced_is_refused_by_name(pattern, construct):
    with pytest.raises(UnsupportedError) as caught:
        parse_pattern(pattern)
    assert caught.value.reason == (
        f"{construct} of the pattern is not supported; write the pattern without it"
    )
    assert caught.value.keyword == "pattern"


@pytest.mark.parametrize(
    ("pattern", "limit"),
    [
        ("a" * (2**20 + 1), "max_pattern_chars"),
        ("(" * 200_000, "max_open_groups"),
        ("(x" * 102 + ")" * 102, "max_pattern_depth"),
        ("(" * 101 + "a" + ")*" * 101, "max_pattern_depth"),
        ("(?=" * 101 + "a" + ")" * 101, "max_pattern_depth"),
        ("(a|b)*a(a|b){30}", "max_states"),
        ("((a{100}){100}){100}", "max_states"),
        ("a{99999999999}", "max_states"),
        ("(?:(?:a{1,1000}){1,1000}){1,1000}", "max_states"),
        ("a?" * 160_001, "max_pattern_parts"),
        ("[" + r"\x61" * 160_001 + "]", "max_pattern_parts"),
        (r"[\p{L}a]" * 2_001, "max_pattern_parts"),
        ("".join(f"[^{chr(0x3000 + i)}]" for i in range(2_500)), "max_class_members"),
        ("".join(map(chr, range(0x4E00, 0x6E00))), "max_class_pairs"),
        ("(" + "|".join(f"[{chr(0x4E00 + i)}]" for i in range(4_000)) + "){1000}", "max_states"),
        ("^" + "".join(f"(?=.*{i})" for i in range(257)), "max_lookarounds"),
        ("^a" + "".join(f"(?!{i})" for i in range(257)), "max_lookarounds"),
        ("^" + "".join(f"(?!.{{{i}}}a)" for i in range(200)) + "[^a]{5000}$", "max_states"),
    ],
)
def test_a_pattern_that_costs_too_much_ends_at_a_counted_limit(pattern, limit):
    with pytest.raises(LimitExceededError) as caught:
        fullmatch(pattern)
    assert caught.value.limit == limit


def test_groups_that_add_nothing_may_be_nested_as_deep_as_they_are():
    assert parse_pattern("(" * 30_000 + "a|b" + ")" * 30_000 + "c") == parse_pattern("(a|b)c")


@pytest.mark.parametrize(
    ("pattern", "num_states"),
    [
        ("(.*a){24}", 25),
        (r"[^\n\r]{1,129}", 130),
        (".{0,200}", 201),
        ("(x+x+)+y", 4),
        (r"(\w+\s?){1,500}", 1001),
        ("(a{0,30}b{0,30}){0,30}", 1801),
        (".{0,100}foo.{0,100}", 14859),
    ],
)
def test_a_hostile_looking_pattern_has_a_small_automaton(pattern, num_states):
    assert fullmatch(pattern).num_states - 1 == num_states


def test_depth_up_to_the_limit_is_read():
    assert fullmatch("(" * 100 + "a" + ")*" * 100).accepts("aaa")


@pytest.mark.parametrize("size", [4095, 4096, 4097, 9000])
def test_a_long_run_of_characters_is_read_whole_and_its_last_may_be_repeated(size):
    text = "ab" * (size // 2)
    found = fullmatch(f"{text}c*")
    for end in ("", "c", "cc"):
        assert found.accepts(text + end)
    assert not found.accepts(text[:-1])
