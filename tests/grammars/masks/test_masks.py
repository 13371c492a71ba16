"""Masks: every mask is what a scan of the vocabulary finds, by whatever way it was made."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.masks.compiled import AutomatonGrammar
from grammars.masks.reference import ReferenceWalk
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary
from tests.support.toy_arrays import ToyArrays

if TYPE_CHECKING:
    from grammars.masks.matcher import Matcher
    from grammars.vocabulary import Vocabulary

BOUNDS = [(0, None), (2, None), (0, 3), (2, 5), (1, 1), (0, 200)]


def toy_grammar(vocabulary: Vocabulary, bounds: tuple[int, int | None], **options):
    toy = ToyArrays(vocabulary, fewest=bounds[0], most=bounds[1])
    return AutomatonGrammar(toy.tables, toy, toy.root, vocabulary, **options)


class Scan:
    """The same text in the plain reference."""

    def __init__(self, vocabulary: Vocabulary, bounds: tuple[int, int | None]) -> None:
        toy = ToyArrays(vocabulary, fewest=bounds[0], most=bounds[1])
        self._walk = ReferenceWalk(toy.tables, toy, vocabulary)
        self.configuration = self._walk.start(toy.root)

    def allowed_token_ids(self) -> list[int]:
        return self._walk.allowed_token_ids(self.configuration)

    def accept(self, token_id: int) -> None:
        symbols = self._walk.token_symbols(token_id)
        assert symbols is not None
        read = self._walk.read(self.configuration, symbols)
        assert read is not None
        self.configuration = read

    @property
    def is_complete(self) -> bool:
        return self._walk.is_complete(self.configuration)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), bounds=st.sampled_from(BOUNDS))
def test_a_mask_is_a_scan_of_the_vocabulary(seed, bounds):
    vocabulary = tiny_vocabulary()
    choose = random.Random(seed)
    by_slices = toy_grammar(vocabulary, bounds).matcher()
    by_walks = toy_grammar(vocabulary, bounds, way="walk").matcher()
    by_reference = toy_grammar(vocabulary, bounds, way="reference").matcher()
    uncached = toy_grammar(vocabulary, bounds, max_cache_bytes=0).matcher()
    scan = Scan(vocabulary, bounds)
    for _ in range(25):
        allowed = scan.allowed_token_ids()
        assert by_slices.allowed_token_ids() == allowed
        assert by_walks.allowed_token_ids() == allowed
        assert by_reference.allowed_token_ids() == allowed
        assert uncached.allowed_token_ids() == allowed
        assert by_slices.is_complete == scan.is_complete
        if by_slices.is_terminated:
            assert set(allowed) == set(vocabulary.end_token_ids)
            break
        going_on = [x for x in allowed if x not in vocabulary.end_token_ids]
        token_id = choose.choice(going_on)
        for matcher in (by_slices, by_walks, by_reference, uncached):
            assert matcher.accept_token(token_id)
        scan.accept(token_id)


@pytest.mark.parametrize("name", ["smollm2", "qwen3"])
@pytest.mark.parametrize("bounds", [(0, None), (2, 9)])
def test_a_mask_is_a_scan_of_a_real_vocabulary(name, bounds):
    vocabulary = real_vocabulary(name)
    by_slices = toy_grammar(vocabulary, bounds).matcher()
    by_walks = toy_grammar(vocabulary, bounds, way="walk").matcher()
    scan = Scan(vocabulary, bounds)
    for piece in (b"[[", b'"ab cd', b'"],'):
        for token_id in vocabulary.encode(piece):
            assert by_slices.accept_token(token_id)
            assert by_walks.accept_token(token_id)
            scan.accept(token_id)
        allowed = scan.allowed_token_ids()
        assert by_slices.allowed_token_ids() == allowed
        assert by_walks.allowed_token_ids() == allowed


def accept_text(matcher: Matcher, vocabulary: Vocabulary, text: bytes) -> bool:
    return all(matcher.accept_token(byte) for byte in text)


@pytest.mark.parametrize(
    ("text", "is_complete"),
    [
        (b"1", True), (b"12", True), (b"[", False), (b"[]", True), (b"[[],[1,2]]", True),
        (b'["ab","c"]', False), (b'["ab","abc"]', True), (b'"ab"', True),
    ],
)  # fmt: skip
def test_a_text_is_complete_where_a_final_state_can_be_reached(text, is_complete):
    matcher = toy_grammar(tiny_vocabulary(), (2, 5)).matcher()
    accepted = accept_text(matcher, tiny_vocabulary(), text)
    assert (accepted and matcher.is_complete) == is_complete


@pytest.mark.parametrize(
    "text",
    [b'["ab",1]', b'[["ab"],[1', b"[1]]", b"[,", b'"a"', b'"abcdef', b"1,", b"<null>", b"]"],
)
def test_a_text_that_breaks_the_grammar_is_refused(text):
    matcher = toy_grammar(tiny_vocabulary(), (2, 5)).matcher()
    assert not accept_text(matcher, tiny_vocabulary(), text)


def test_deep_nesting_is_followed_to_any_depth():
    matcher = toy_grammar(tiny_vocabulary(), (0, None)).matcher()
    assert accept_text(matcher, tiny_vocabulary(), b"[" * 5000 + b"1" + b"]" * 5000)
    assert matcher.is_terminated
    matcher.rollback(1)
    assert not matcher.is_complete


def test_a_token_that_pops_more_frames_than_the_first_window_is_read():
    vocabulary = real_vocabulary("qwen3")
    matcher = toy_grammar(vocabulary, (0, None)).matcher()
    closing = max(
        (data for data in vocabulary.token_bytes.values() if set(data) == set(b"]")), key=len
    )
    (one,) = vocabulary.encode(b"[")
    assert all(matcher.accept_token(one) for _ in range(40))
    (token_id,) = [t for t, data in vocabulary.token_bytes.items() if data == closing]
    assert token_id in matcher.allowed_token_ids()
    assert matcher.accept_token(token_id)


def test_a_control_token_is_allowed_only_where_the_grammar_names_it():
    vocabulary = tiny_vocabulary()
    control_ids = {control.token_id for control in vocabulary.controls}
    symbol = vocabulary.control_symbol("<null>")
    assert symbol is not None
    null = vocabulary.control_token_id(symbol)
    matcher = toy_grammar(vocabulary, (0, None)).matcher()
    assert control_ids & set(matcher.allowed_token_ids()) == {null}
    assert matcher.accept_token(ord("["))
    assert matcher.accept_token(null)
    assert control_ids & set(matcher.allowed_token_ids()) == set()
    assert accept_text(matcher, vocabulary, b',"') is False  # a null is no string
    strings = toy_grammar(vocabulary, (0, None)).matcher()
    assert accept_text(strings, vocabulary, b'["a')
    assert control_ids & set(strings.allowed_token_ids()) == set()


def test_padding_rows_and_ids_out_of_range_are_never_accepted():
    vocabulary = tiny_vocabulary()
    matcher = toy_grammar(vocabulary, (0, None)).matcher()
    for token_id in (-1, vocabulary.padded_size - 1, vocabulary.padded_size, 10**9):
        assert not matcher.accept_token(token_id)


def test_end_tokens_are_accepted_exactly_where_the_text_is_complete():
    vocabulary = tiny_vocabulary()
    for end_token_id in vocabulary.end_token_ids:
        matcher = toy_grammar(vocabulary, (0, None)).matcher()
        assert not matcher.accept_token(end_token_id)
        assert matcher.accept_token(ord("1"))
        assert not matcher.is_terminated
        assert set(vocabulary.end_token_ids) <= set(matcher.allowed_token_ids())
        assert matcher.accept_token(end_token_id)
        assert matcher.is_terminated
        assert matcher.allowed_token_ids() == []
        assert not matcher.accept_token(ord("1"))
        matcher.rollback(1)
        assert matcher.accept_token(ord("1"))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_rollback_undoes_accept(seed):
    vocabulary = tiny_vocabulary()
    choose = random.Random(seed)
    matcher = toy_grammar(vocabulary, (1, 4)).matcher()
    seen = []
    for _ in range(20):
        seen.append((matcher.allowed_token_ids(), matcher.is_complete))
        going_on = [x for x in seen[-1][0] if x not in vocabulary.end_token_ids]
        if not going_on:
            break
        matcher.accept_token(choose.choice(going_on))
    num_accepted = len(seen) - 1 if not going_on else len(seen)
    back = choose.randint(0, num_accepted)
    matcher.rollback(back)
    if num_accepted - back < len(seen):
        expected = seen[num_accepted - back]
        assert (matcher.allowed_token_ids(), matcher.is_complete) == expected


def test_rolling_back_more_than_was_accepted_is_refused():
    matcher = toy_grammar(tiny_vocabulary(), (0, None)).matcher()
    matcher.accept_token(ord("["))
    with pytest.raises(ValueError, match="cannot undo 2 of 1 accepted tokens"):
        matcher.rollback(2)


def test_equal_rows_have_one_id_and_an_id_always_means_the_same_row():
    vocabulary = tiny_vocabulary()
    grammar = toy_grammar(vocabulary, (0, None), max_cache_bytes=20_000)
    rows: dict[int, bytes] = {}
    choose = random.Random(7)
    for _ in range(40):
        matcher = grammar.matcher()
        for _ in range(30):
            row = np.zeros(vocabulary.num_words, np.int32)
            matcher.fill_bitmask(row)
            assert rows.setdefault(matcher.row_id(), row.tobytes()) == row.tobytes()
            allowed = [x for x in matcher.allowed_token_ids() if x < 256]
            if not allowed:
                break
            matcher.accept_token(choose.choice(allowed))


def test_what_is_known_of_a_grammar_stays_within_its_bytes():
    vocabulary = tiny_vocabulary()
    grammar = toy_grammar(vocabulary, (0, None), max_cache_bytes=50_000)
    matcher = grammar.matcher()
    for _ in range(300):
        matcher.accept_token(ord("["))
        matcher.allowed_token_ids()
    assert grammar.memory_bytes < grammar.table_bytes + 60_000


def test_a_state_that_was_visited_is_expanded_once():
    vocabulary = tiny_vocabulary()
    toy = ToyArrays(vocabulary)
    grammar = AutomatonGrammar(toy.tables, toy, toy.root, vocabulary)
    for _ in range(3):
        matcher = grammar.matcher()
        for byte in b'[["a","b"],[]]':
            matcher.allowed_token_ids()
            matcher.accept_token(byte)
        first = toy.num_expanded
    assert toy.num_expanded == first
