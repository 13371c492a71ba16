"""Shield: marks are found and put back alike, however little of a text is looked at at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chat import shield
from server.chat.shield import Marks, Shield

MARKS = Marks(["<|im_end|>", "<|im_", "<think>", "</think>", "|>", ""])
PIECES = st.sampled_from([*MARKS.spellings, "<", "|", ">", "<|", "im_", "a", "é", "\ue000"])
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(text=TEXTS, chars_at_a_time=st.integers(1, 9))
def test_marks_are_those_that_one_search_of_the_whole_text_finds(text, chars_at_a_time):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shield, "_CHARS_AT_A_TIME", chars_at_a_time)
        found = [match.span() for match in MARKS.find(text)]
    assert found == [match.span() for match in MARKS.pattern.finditer(text)]


@given(text=TEXTS, chars_at_a_time=st.integers(1, 9))
def test_a_protected_text_spells_no_mark_and_comes_back_as_it_was(text, chars_at_a_time):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shield, "_CHARS_AT_A_TIME", chars_at_a_time)
        shielded = Shield(MARKS, [text])
        protected = shielded.protect(text)
    assert len(protected) == len(text)
    assert MARKS.pattern.search(protected) is None
    assert shielded.restore(protected) == text


def test_no_search_is_of_a_whole_long_text(monkeypatch):
    searched: list[int] = []

    class Pattern:
        def search(self, text: str, start: int, end: int) -> None:
            searched.append(min(len(text), end) - start)

    marks = Marks(["<|im_end|>"])
    monkeypatch.setitem(marks.__dict__, "pattern", Pattern())
    assert list(marks.find("<" * 10**6)) == []
    assert max(searched) < 300_000
