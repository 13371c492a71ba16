"""Nothing in a compiled grammar is a circle: dropped, it is freed without Python's collector."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from grammars.compile import compile_grammar
from grammars.errors import GrammarError
from grammars.spec import (
    Cfg,
    Choice,
    Embed,
    FreeText,
    JsonSchema,
    Literal,
    Regex,
    Sequence,
    Structure,
    Tagged,
)
from tests.support.byte_vocabulary import byte_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.spec import TextSpec

OPEN = '{"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}}'
TREE = '{"properties": {"of": {"type": "array", "items": {"$ref": "#"}}}, "type": "object"}'
EXCLUSIVE = (
    '{"type": "object", "oneOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["b"]}]}'
)
UNIQUE = '{"type": "array", "items": {"enum": [1, 2, 3, "a"]}, "uniqueItems": true, "minItems": 2}'
CALL = Tagged("<call>", Sequence((Embed(JsonSchema(OPEN)), Literal("</call>"))))

SPECS: dict[str, tuple[TextSpec, bytes]] = {
    "an open object": (JsonSchema(OPEN), b'{"a": "x", "b": "y", "c": "y"}'),
    "keys in any order": (JsonSchema(OPEN, property_order="any"), b'{"b": "x", "a": "y"}'),
    "a tree": (JsonSchema(TREE), b'{"of": [{"of": [{}, {}]}, {}]}'),
    "exclusive branches": (JsonSchema(EXCLUSIVE), b'{"a": 1}'),
    "elements that differ": (JsonSchema(UNIQUE), b'[1, "a", 2]'),
    "a string in pieces": (JsonSchema('{"pattern": "^.{0,200}foo.{0,200}$"}'), b'"aaafoo"'),
    "a pattern": (Regex("(ab+)*c?"), b"abbbababc"),
    "a choice": (Choice(("red", "green")), b"green"),
    "GBNF": (Cfg("gbnf", 'root ::= "(" root* ")"'), b"(()(()))"),
    "Lark": (Cfg("lark", 'start: "(" start* ")" | NUMBER\nNUMBER: /[0-9]+/'), b"(12(3)4)"),
    "calls in free text": (Structure(FreeText(tags=(CALL,))), b'hm <call>{"a": "x"}</call> hm'),
}


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def left_to_the_collector() -> list[str]:
    """The objects of ours that only a collection finds."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        found = [type(one) for one in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    return [one.__name__ for one in found if one.__module__.startswith("grammars.")]


def use(spec: TextSpec, text: bytes) -> None:
    """Compile, and let two texts leave behind all that is remembered of them."""
    vocabulary = byte_vocabulary()
    grammar = compile_grammar(spec, vocabulary)
    row = np.zeros(vocabulary.num_words, np.int32)
    for _ in range(2):
        matcher = grammar.matcher()
        for byte in text:
            matcher.fill_bitmask(row)
            matcher.forced_tokens()
            matcher.fill_closing_bitmask(row, 100)
            assert matcher.accept_token(byte)
        assert matcher.is_complete
    grammar.warm(100)


@pytest.mark.parametrize("name", SPECS)
def test_a_grammar_that_was_used_is_freed_when_it_is_dropped(name):
    spec, text = SPECS[name]
    use(spec, text)  # what is kept for the process is there before
    with without_collector():
        use(spec, text)
        assert left_to_the_collector() == []


@pytest.mark.parametrize(
    "spec",
    [
        JsonSchema('{"properties": {"a": {"contains": {}, "prefixItems": [1]}}}'),
        JsonSchema('{"allOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]}'),
        JsonSchema('{"type": "array", "minItems": 2, "items": false}'),
        Cfg("gbnf", "root ::= other"),
        Regex("(a"),
    ],
)
def test_of_a_grammar_that_is_refused_nothing_is_left(spec):
    vocabulary = byte_vocabulary()
    with without_collector():
        with pytest.raises(GrammarError):
            compile_grammar(spec, vocabulary)
        assert left_to_the_collector() == []
