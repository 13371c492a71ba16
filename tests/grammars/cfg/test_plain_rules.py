"""Plain rules: what large grammars consist of is read in one go, as everything else would be."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.cfg import gbnf, lark
from grammars.cfg.source import Source
from grammars.errors import GrammarError

PLAIN = st.sampled_from(
    ["x", "y", "_z", "X", '"a"', '"b c"', '"é😀"', '""', '"long enough to count"', '"(|)"', '"//#"']
)
OTHERS = st.sampled_from(
    [
        *(
            '"a"i',
            '"a".."c"',
            r'"\n"',
            '"\ud800"',
            '"open',
            "[ab]",
            "/a/",
            "|",
            "(",
            ")",
            "[x]",
            "(x)",
        ),
        *(
            "*",
            "+",
            "?",
            "~2",
            "{2}",
            "-> z",
            "#c",
            "//c",
            "%",
            "::=",
            ":",
            "\t",
            "\r",
            "xY",
            "1",
            "é",
        ),
    ]
)
BLANKS = st.sampled_from([" ", " ", " ", " ", "  ", "\t", ""])
HEADS = ("root", "start", "x", "y", "_z", "X")


@st.composite
def texts(draw, colon):
    """Rules of plain elements, and in half of the texts of a few others."""
    pieces = draw(st.sampled_from([PLAIN, st.one_of(PLAIN, PLAIN, PLAIN, PLAIN, OTHERS)]))
    lines = []
    for head in [*draw(st.permutations(HEADS)), *draw(st.lists(OTHERS, max_size=1))]:
        body = draw(st.lists(pieces, min_size=1, max_size=5))
        elements = "".join(piece + draw(BLANKS) for piece in body)
        lines.append(f"{head}{draw(BLANKS)}{colon}{draw(BLANKS)}{elements}")
        lines += draw(st.sampled_from([[], [], [], [""], ['| "o"'], ['"p"']]))
    return draw(st.sampled_from(["", "\n"])) + "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


def read(syntax, text):
    """What is read, and how many parts were counted; or the refusal."""
    source = Source(text, syntax)
    reader = gbnf._Reader(source) if syntax == "gbnf" else lark._Reader(source)
    try:
        return reader.read(), source.num_parts
    except GrammarError as refusal:
        return type(refusal), str(refusal)


@pytest.mark.parametrize(
    ("syntax", "colon", "comment"), [("gbnf", "::=", "#"), ("lark", ":", "//")]
)
def test_a_plain_rule_is_read_as_one_with_a_comment_behind_it(syntax, colon, comment):
    """A comment keeps a rule from being plain, and moves nothing before it."""

    @settings(max_examples=300, deadline=None)
    @given(texts(colon))
    def check(text):
        assert read(syntax, text) == read(syntax, text.replace("\n", f" {comment}\n"))

    check()
