"""Plain text automata over UTF-8 bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.automata.pattern_dfa import fullmatch
from grammars.automata.utf8_text import utf8_dfa
from grammars.errors import LimitExceededError

PATTERNS = ["[^a]*", "é+|ab?", r"\p{L}{1,3}", "[\\u{7f0}-\\u{10ffff}]*", ".?", "a^", "(?:)"]
CHARACTERS = st.sampled_from("abé\n\u07ff\u0800\ud7ff\ue000\uffff\U00010000😀\U0010ffff")


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=60, deadline=None)
@given(text=st.text(CHARACTERS, max_size=4))
def test_it_accepts_the_utf8_of_exactly_the_texts(pattern, text):
    content = fullmatch(pattern)
    assert utf8_dfa(content, max_states=50_000).accepts(text.encode()) == content.accepts(text)


@pytest.mark.parametrize(
    "data", [b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\x80"]
)
def test_ill_formed_utf8_is_never_accepted(data):
    assert not utf8_dfa(fullmatch("[^a]*"), max_states=50_000).accepts(data)


def test_too_many_states_are_refused():
    with pytest.raises(LimitExceededError, match="max_states=100"):
        utf8_dfa(fullmatch(r"\p{L}{90}"), max_states=100)
