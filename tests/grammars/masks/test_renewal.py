"""Renewal: what grammars take is bounded, and no text is the worse for it."""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest

from grammars.backends.tightrope import TightropeBackend
from grammars.cache import GrammarCache
from grammars.compile import compile_grammar
from grammars.errors import TextLimitError
from grammars.limits import CompileLimits
from grammars.spec import JsonSchema
from tests.support.tokenizers import tiny_vocabulary

NAMES = [f"a{number}" for number in range(40)]
INNER = {"properties": {"b": {"const": 1}, "c": {"const": 2}}, "additionalProperties": False}
WIDE = JsonSchema.from_value(
    {
        "properties": {name: {"type": "object", "title": name, **INNER} for name in NAMES},
        "type": "object",
        "additionalProperties": False,
    },
    whitespace="compact",
)


def text_of(*numbers: int) -> bytes:
    return json.dumps({NAMES[n]: {"b": 1, "c": 2} for n in numbers}, separators=(",", ":")).encode()


def table_bytes() -> int:
    """The tables of `WIDE` before any text."""
    return compile_grammar(WIDE, tiny_vocabulary())._current.table_bytes


def write(matcher, text: bytes) -> list[list[int]]:
    """The masks on the way through a text."""
    masks = []
    for byte in text:
        masks.append(matcher.allowed_token_ids())
        assert matcher.accept_token(byte)
    return [*masks, matcher.allowed_token_ids()]


def test_later_texts_begin_in_fresh_tables_when_these_have_grown():
    soft = table_bytes() + 45_000
    grammar = compile_grammar(WIDE, tiny_vocabulary(), CompileLimits(renew_table_bytes=soft))
    unbounded = compile_grammar(WIDE, tiny_vocabulary())
    sizes = []
    for number in range(40):
        assert write(grammar.matcher(), text_of(number)) == write(
            unbounded.matcher(), text_of(number)
        )
        sizes.append(grammar._current.table_bytes)
    assert max(sizes) < unbounded._current.table_bytes / 2
    assert min(sizes[20:]) < soft


def test_tables_live_as_long_as_a_text_is_in_them():
    grammar = compile_grammar(WIDE, tiny_vocabulary(), CompileLimits(renew_table_bytes=0))
    matchers = [grammar.matcher() for _ in range(3)]
    for matcher in matchers:
        write(matcher, text_of(3))
    together = grammar.memory_bytes
    del matchers, matcher
    gc.collect()
    assert grammar.memory_bytes < together / 2


def test_a_text_goes_on_in_fresh_tables_when_its_own_are_full():
    limits = CompileLimits(max_table_bytes=table_bytes() + 200_000)
    grammar = compile_grammar(WIDE, tiny_vocabulary(), limits)
    unbounded = compile_grammar(WIDE, tiny_vocabulary())
    waiting = grammar.matcher()
    start = write(waiting, text_of(0, 39)[:30])
    for number in range(1, 39):
        matcher = grammar.matcher()
        assert write(matcher, text_of(number)) == write(unbounded.matcher(), text_of(number))
    assert waiting._grammar is not grammar._current
    whole = unbounded.matcher()
    assert start == write(whole, text_of(0, 39)[:30])
    assert write(waiting, text_of(0, 39)[30:]) == write(whole, text_of(0, 39)[30:])
    for matcher in (waiting, whole):
        matcher.rollback(20)
    assert waiting.allowed_token_ids() == whole.allowed_token_ids()


def test_rows_have_numbers_of_their_own_in_all_tables():
    limits = CompileLimits(max_table_bytes=table_bytes() + 200_000)
    grammar = compile_grammar(WIDE, tiny_vocabulary(), limits)
    rows: dict[int | None, bytes] = {}
    for number in range(40):
        matcher = grammar.matcher()
        for byte in text_of(number):
            row = np.zeros(tiny_vocabulary().num_words, np.int32)
            matcher.fill_bitmask(row)
            assert rows.setdefault(matcher.row_id(), row.tobytes()) == row.tobytes()
            assert matcher.accept_token(byte)


def test_a_text_that_fills_fresh_tables_alone_fails_by_name_and_stays_where_it_was():
    limits = CompileLimits(max_table_bytes=table_bytes() + 200_000)
    matcher = compile_grammar(WIDE, tiny_vocabulary(), limits).matcher()
    text, num_written = text_of(*range(40)), 0

    def go_on() -> None:
        nonlocal num_written
        for byte in text:
            matcher.allowed_token_ids()
            assert matcher.accept_token(byte)
            num_written += 1

    with pytest.raises(TextLimitError, match="this text alone needs more than max_table_bytes"):
        go_on()
    assert 50 < num_written < len(text)
    matcher.rollback(num_written)
    assert matcher.accept_token(text[0])


def test_many_schemas_in_a_cache_take_what_it_allows():
    vocabulary, backend = tiny_vocabulary(), TightropeBackend()
    cache = GrammarCache(500_000)
    for number in range(60):
        schema = {"properties": {f"k{number}_{i}": {"type": "integer"} for i in range(8)}}
        grammar = cache.get(JsonSchema(json.dumps(schema)), vocabulary, backend)
        write(grammar.matcher(), b'{"k%d_1": 12, "k%d_5": 1}' % (number, number))
        assert cache.memory_bytes < 500_000 + grammar.memory_bytes
    assert 2 <= len(cache) < 30
