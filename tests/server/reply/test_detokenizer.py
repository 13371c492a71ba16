"""Tokens become text as they come, characters whole, control tokens named or hidden."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from server.reply.detokenizer import Detokenizer, TagPiece, TextPiece, token_text
from tests.support.byte_vocabulary import byte_vocabulary

CONTROLS = ("<tool_call>", "<|im_end|>")
VOCABULARY = byte_vocabulary(CONTROLS)
TOOL_CALL, IM_END = 257, 258


def test_a_character_is_told_when_its_last_byte_is_there():
    detokenizer = Detokenizer(VOCABULARY, ())
    assert [list(detokenizer.feed([byte])) for byte in "☔".encode()] == [[], [], [TextPiece("☔")]]


def test_b026_named_control_tokens_come_through_and_others_are_hidden():
    detokenizer = Detokenizer(VOCABULARY, ["<tool_call>"])
    pieces = list(detokenizer.feed([97, IM_END, 98, TOOL_CALL, 99]))
    assert pieces == [TextPiece("ab"), TagPiece("<tool_call>"), TextPiece("c")]


def test_a_character_that_is_never_completed_is_a_replacement_character():
    detokenizer = Detokenizer(VOCABULARY, ["<tool_call>"])
    assert list(detokenizer.feed([0xE2, TOOL_CALL])) == [
        TextPiece("\ufffd"),
        TagPiece("<tool_call>"),
    ]
    assert list(detokenizer.feed([0xE2])) == []
    assert list(detokenizer.finish()) == [TextPiece("\ufffd")]


@given(st.text(max_size=20), st.lists(st.integers(0, 80), max_size=4))
def test_any_cut_of_the_tokens_gives_the_text(text, cuts):
    detokenizer = Detokenizer(VOCABULARY, ())
    tokens = list(text.encode())
    places = sorted({0, len(tokens), *(min(place, len(tokens)) for place in cuts)})
    told = [piece for a, b in pairwise(places) for piece in detokenizer.feed(tokens[a:b])]
    assert "".join(piece.text for piece in told if isinstance(piece, TextPiece)) == text
    assert list(detokenizer.finish()) == []


def test_a_token_is_shown_by_its_text_and_its_bytes():
    assert token_text(VOCABULARY, 97) == ("a", b"a")
    assert token_text(VOCABULARY, 0xE2) == ("\ufffd", b"\xe2")
    assert token_text(VOCABULARY, TOOL_CALL) == ("<tool_call>", b"<tool_call>")
