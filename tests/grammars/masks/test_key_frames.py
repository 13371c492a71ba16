"""Keys in any order: what is remembered as a set of keys tells all that the plain walk tells."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from grammars.compile import compile_grammar
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.masks.key_tokens import KeyTokens
from grammars.masks.reference import ReferenceWalk
from grammars.pushdown.distinct import Distinct
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonSchema
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary

if TYPE_CHECKING:
    from grammars.vocabulary import Vocabulary

SCHEMAS: dict[str, Any] = {
    "open": {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        "required": ["id"],
    },
    "nested": {
        "type": "object",
        "properties": {"a": {"type": "object"}, "b": {"type": "array", "items": {}}},
        "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "patterns": {
        "type": "object",
        "properties": {"x-id": {"type": "integer"}},
        "patternProperties": {"^x-": {"type": "integer"}, "^y$": {"type": "null"}},
        "additionalProperties": False,
    },
    "alternatives": {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}},
            {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
        ]
    },
}  # fmt: skip

TEXTS = {
    "open": '{"z": "a, b", "name": "x\\n\\"", "z1": {"z": 1}, "id": 12, "": [1, {"q": {}}]}',
    "nested": '{"b": [{"b": 1}, "x"], "c": {"b": 1, "a": 2}, "a": {"a": {"a": []}}, "d": {}}',
    "patterns": '{"x-a": 1, "y": null, "x-id": 2, "x-": 3}',
    "alternatives": '{"c": {"b": ""}, "b": 1, "a": 5, "d": null}',
}


def any_order(schema: Any) -> JsonSchema:
    return JsonSchema.from_value(schema, property_order="any")


def plain_grammar(schema: Any, vocabulary: Vocabulary) -> AutomatonGrammar:
    """The grammar that reads byte by byte."""
    tables = AutomatonTables()
    states = StructuralStates(Embed(any_order(schema)), tables, vocabulary, CompileLimits())
    return AutomatonGrammar(
        tables, states, states.root, vocabulary, way="reference", distinct=states
    )


def crossing_vocabulary() -> Vocabulary:
    """Tokens that end a key, write one whole, or end one and begin the next."""
    return tiny_vocabulary('z":1,"', ',"z"', '{"z":1,"z"', '},"z"', '"z"')


def telling_tokens(vocabulary: Vocabulary, rng: random.Random) -> list[int]:
    """Tokens that may end a key, and some others."""
    with_quotes = [t for t, data in vocabulary.token_bytes.items() if b'"' in data]
    others = rng.sample(list(vocabulary.token_bytes), 50)
    return [*rng.sample(with_quotes, min(len(with_quotes), 120)), *others]


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("tokenizer", ["tiny", "smollm2", "qwen3"])
def test_masks_refuse_what_the_plain_walk_refuses(name, tokenizer):
    vocabulary = crossing_vocabulary() if tokenizer == "tiny" else real_vocabulary(tokenizer)
    fast = compile_grammar(any_order(SCHEMAS[name]), vocabulary).matcher()
    plain = plain_grammar(SCHEMAS[name], vocabulary).matcher()
    tokens = telling_tokens(vocabulary, random.Random(0))
    for step, token_id in enumerate(vocabulary.encode(TEXTS[name].encode())):
        if step % (1 if tokenizer == "tiny" else 7) == 0:
            allowed = set(fast.allowed_token_ids())
            for told in tokens:
                assert (told in allowed) == plain.accept_token(told), vocabulary.token_bytes[told]
                if told in allowed:
                    assert fast.accept_token(told)
                    fast.rollback(1)
                    plain.rollback(1)
                else:
                    assert not fast.accept_token(told)
        assert fast.accept_token(token_id)
        assert plain.accept_token(token_id)
    assert fast.is_complete
    assert plain.is_complete


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("seed", range(4))
def test_random_texts_have_the_masks_of_the_plain_walk_also_after_rollback(name, seed):
    vocabulary = crossing_vocabulary()
    rng = random.Random(f"{name} {seed}")
    fast = compile_grammar(any_order(SCHEMAS[name]), vocabulary).matcher()
    plain = plain_grammar(SCHEMAS[name], vocabulary).matcher()
    wishes = {*b'"az,: {}1', *(t for t, data in vocabulary.token_bytes.items() if b"z" in data)}
    num_accepted = 0
    for _ in range(60):
        allowed = plain.allowed_token_ids()
        assert fast.allowed_token_ids() == allowed
        if fast.is_terminated:
            break
        if num_accepted and rng.random() < 0.15:
            num_undone = rng.randint(1, min(4, num_accepted))
            fast.rollback(num_undone)
            plain.rollback(num_undone)
            num_accepted -= num_undone
            continue
        likely = [token for token in allowed if token in wishes] or allowed
        token_id = rng.choice(likely)
        assert fast.accept_token(token_id)
        assert plain.accept_token(token_id)
        num_accepted += 1


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "object"}, Distinct.ENDLESS_KEYS),
        ({"type": "object", "patternProperties": {"^[a-z]": {}}, "additionalProperties": False},
         Distinct.ENDLESS_KEYS),
        ({"type": "object", "propertyNames": {"pattern": "^[a-z]{1,20}$"}}, Distinct.KEYS),
        ({"type": "object", "propertyNames": {"pattern": "^(a|b.*)$"}}, Distinct.KEYS),
        ({"type": "object", "propertyNames": {"enum": ["a", "b"]}}, Distinct.NOTHING),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False},
         Distinct.NOTHING),
        ({"anyOf": [{"type": "object"},
                    {"type": "object", "properties": {"a": {}}, "additionalProperties": False}]},
         Distinct.ENDLESS_KEYS),
    ],
)  # fmt: skip
def test_keys_are_endless_where_each_beginning_of_one_begins_infinitely_many(schema, kind):
    vocabulary, tables = byte_vocabulary(), AutomatonTables()
    states = StructuralStates(Embed(any_order(schema)), tables, vocabulary, CompileLimits())
    walk = ReferenceWalk(tables, states, vocabulary)
    inside = walk.read(walk.start(states.root), b"{")
    assert inside is not None
    assert states.distinct_texts(inside.state) is kind


@pytest.mark.parametrize("seed", range(3))
def test_a_text_with_keys_in_any_order_closes_in_time(seed):
    vocabulary = crossing_vocabulary()
    matcher = compile_grammar(any_order(SCHEMAS["open"]), vocabulary).matcher()
    rng = random.Random(seed)
    for token_id in b'{"":1,"':  # the shortest key is taken
        assert matcher.accept_token(token_id)
    row = np.zeros(vocabulary.num_words, np.int32)
    left = matcher.min_tokens_to_complete() + 4
    while not matcher.is_complete:
        matcher.fill_closing_bitmask(row, left)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        assert matcher.accept_token(rng.choice(np.flatnonzero(bits).tolist()))
        left -= 1
    assert left >= 0


def test_a_token_that_ends_an_earlier_key_is_refused_however_it_goes_on():
    vocabulary = real_vocabulary("qwen3")
    matcher = compile_grammar(any_order(SCHEMAS["open"]), vocabulary).matcher()
    for token_id in vocabulary.encode(b'{"": 1, "!": 2, "'):
        assert matcher.accept_token(token_id)
    allowed = {vocabulary.token_bytes[token_id] for token_id in matcher.allowed_token_ids()}
    assert not [data for data in allowed if data.startswith((b'"', b'!"'))]
    assert b"!!" in allowed


def test_equal_texts_share_their_rows_and_a_repeat_has_a_row_of_its_own():
    vocabulary = tiny_vocabulary()
    grammar = compile_grammar(any_order(SCHEMAS["open"]), vocabulary)
    rows = []
    for text in (b'{"q":1,"id":1,"', b'{"r":1,"id":1,"', b'{"":1,"id":1,"'):
        matcher = grammar.matcher()
        assert all(matcher.accept_token(byte) for byte in text)
        matcher.allowed_token_ids()
        rows.append(matcher.row_id())
    assert rows[0] == rows[1] != rows[2]


def test_tokens_are_found_by_the_keys_that_they_can_end():
    vocabulary = crossing_vocabulary()
    tokens = KeyTokens(vocabulary)

    def told(written, *keys):
        found = tokens.ending(written, frozenset(keys))
        return {vocabulary.token_bytes[token] for ids in found for token in ids.tolist()}

    assert told(b'"xy', b'"xyz"') == {b'z"', b'z":', b'z":1', b'z":1,', b'z":1,"'}
    assert told(b"", b'"z"') == {b'"z"', b',"z"'}
    assert told(b"", b'"q"') == set()
    assert told(b'"q', b'"xyz"') == set()


def test_documents_of_other_orders_are_accepted_by_tokens():
    vocabulary = real_vocabulary("qwen3")
    document = {"zeta": {"k": [1, {"k": 2}]}, "name": "n", "id": 7, "zeta2": None}
    grammar = compile_grammar(any_order(SCHEMAS["open"]), vocabulary)
    rng = random.Random(5)
    for _ in range(5):
        members = list(document.items())
        rng.shuffle(members)
        matcher = grammar.matcher()
        for token_id in vocabulary.encode(json.dumps(dict(members)).encode()):
            assert token_id in matcher.allowed_token_ids()
            assert matcher.accept_token(token_id)
        assert matcher.is_complete
