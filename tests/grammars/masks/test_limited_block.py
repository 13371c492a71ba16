"""Limited blocks: thoughts end within their tokens, and nothing else about the texts changes."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from grammars.backends.tightrope import TightropeBackend
from grammars.compile import compile_grammar
from grammars.spec import (
    Either,
    Embed,
    FreeText,
    JsonSchema,
    LimitedBlock,
    Literal,
    Sequence,
    Structure,
    Tagged,
)
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary

END = "</think>"
ANSWER = Sequence(
    (Literal("\n\n"), Embed(JsonSchema('{"type": "array", "items": {"type": "null"}}')))
)
THOUGHTS = Sequence((FreeText(end=END), ANSWER))
FREE = Sequence((FreeText(end=END), FreeText()))


def optional(begin):
    return Either((Sequence((Literal(begin), THOUGHTS)), Embed(JsonSchema('{"type": "null"}'))))


def free_optional(begin):
    return FreeText((Tagged(begin, FreeText(end=END)),), max_tags=1)


TEXTS = {
    "a document behind open thoughts": ("", THOUGHTS),
    "any text behind open thoughts": ("", FREE),
    "a document, perhaps behind thoughts": ("<think>", optional("<think>")),
    "any text, perhaps behind thoughts": ("<think>", free_optional("<think>")),
}
VOCABULARIES = {
    "tiny": "tiny",
    "a tag in several tokens": "smollm2",
    "a tag that is a control token": "qwen3",
}


@cache
def vocabulary_of(name):
    return tiny_vocabulary() if name == "tiny" else real_vocabulary(name)


def compiled(root, begin, max_tokens, vocabulary):
    spec = LimitedBlock(Structure(root), begin, END, max_tokens)
    return TightropeBackend().compile(spec, vocabulary)


def allowed(matcher, vocabulary):
    row = np.zeros(vocabulary.num_words, np.int32)
    matcher.fill_bitmask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def spelled(vocabulary, token_id):
    (control,) = [one for one in vocabulary.controls if one.token_id == token_id] or [None]
    return vocabulary.token_bytes.get(token_id, b"") if control is None else control.text.encode()


def write_begin(matcher, begin, vocabulary):
    """Write the beginning of a block, as a model that thinks does."""
    for piece in vocabulary.split_controls(begin):
        is_control = isinstance(piece, int)
        tokens = [vocabulary.control_token_id(piece)] if is_control else vocabulary.encode(piece)
        assert all(matcher.accept_token(token) for token in tokens)


def thoughts_of(matcher, vocabulary, chance, limit=400):
    """The tokens of the block, chosen by chance; None where it did not end."""
    text, num_tokens = b"", 0
    while END.encode() not in text and num_tokens < limit:
        token = chance.choice(allowed(matcher, vocabulary))
        assert matcher.accept_token(token)
        text += spelled(vocabulary, token)
        num_tokens += 1
    return num_tokens if END.encode() in text else None


@pytest.mark.parametrize("max_tokens", [0, 1, 7, 40])
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("tokenizer", VOCABULARIES)
def test_a_block_ends_within_its_tokens(tokenizer, name, max_tokens):
    vocabulary, (begin, root) = vocabulary_of(VOCABULARIES[tokenizer]), TEXTS[name]
    grammar = compiled(root, begin, max_tokens, vocabulary)
    fewest = compile_grammar(Structure(FreeText(end=END)), vocabulary).matcher()
    for seed in range(2):
        matcher = grammar.matcher()
        write_begin(matcher, begin, vocabulary)
        num_tokens = thoughts_of(matcher, vocabulary, random.Random(seed))
        assert num_tokens is not None
        assert num_tokens <= max_tokens + fewest.min_tokens_to_complete()


def test_without_the_limit_thoughts_by_chance_do_not_end():
    vocabulary = tiny_vocabulary()
    matcher = compile_grammar(Structure(THOUGHTS), vocabulary).matcher()
    assert thoughts_of(matcher, vocabulary, random.Random(0)) is None


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("tokenizer", ["tiny", "a tag in several tokens"])
def test_far_from_its_limit_nothing_is_kept_out(tokenizer, name):
    vocabulary, (begin, root) = vocabulary_of(VOCABULARIES[tokenizer]), TEXTS[name]
    matcher = compiled(root, begin, 1_000, vocabulary).matcher()
    plain = compile_grammar(Structure(root), vocabulary).matcher()
    for one in (matcher, plain):
        write_begin(one, begin, vocabulary)
    chance = random.Random(1)
    for _ in range(30):
        if plain.is_terminated:
            break
        assert matcher.shared_bitmask() is not None
        tokens = allowed(matcher, vocabulary)
        assert tokens == allowed(plain, vocabulary)
        token = chance.choice(tokens)
        assert matcher.accept_token(token) is plain.accept_token(token) is True
        assert matcher.is_complete == plain.is_complete
        assert matcher.forced_tokens() == plain.forced_tokens()


@pytest.mark.parametrize("left", range(12))
def test_near_its_limit_a_mask_has_what_can_still_end_in_time(left):
    """Against the definition: tokens after which the rest of `end` fits into what is left."""
    vocabulary = tiny_vocabulary()
    matcher = compiled(THOUGHTS, "", left, vocabulary).matcher()
    end = compile_grammar(Structure(FreeText(end=END)), vocabulary)
    most = left + end.matcher().min_tokens_to_complete()
    plain = compile_grammar(Structure(THOUGHTS), vocabulary).matcher()
    expected = []
    for token in allowed(plain, vocabulary):
        after = end.matcher()
        assert after.accept_token(token)
        if 1 + after.min_tokens_to_complete() <= most:
            expected.append(token)
    assert allowed(matcher, vocabulary) == expected


@pytest.mark.parametrize("left", range(4))
def test_a_token_that_the_mask_keeps_out_is_refused(left):
    vocabulary = tiny_vocabulary()
    matcher = compiled(THOUGHTS, "", left, vocabulary).matcher()
    tokens = set(allowed(matcher, vocabulary))
    for token in range(-1, vocabulary.padded_size + 40):
        assert matcher.accept_token(token) == (token in tokens)
        if token in tokens:
            matcher.rollback(1)


def test_white_space_in_front_of_a_block_does_not_hide_it():
    vocabulary = vocabulary_of("qwen3")
    matcher = compiled(free_optional("<think>"), "<think>", 3, vocabulary).matcher()
    assert matcher.accept_token(vocabulary.encode(b"\n")[0])
    write_begin(matcher, "<think>", vocabulary)
    assert thoughts_of(matcher, vocabulary, random.Random(0)) <= 4


def test_a_text_without_a_block_has_no_limit():
    vocabulary = vocabulary_of("qwen3")
    matcher = compiled(free_optional("<think>"), "<think>", 0, vocabulary).matcher()
    for token in vocabulary.encode(b"It is " + 30 * b"very " + b"good."):
        assert matcher.shared_bitmask() is not None
        assert matcher.accept_token(token)
    assert matcher.is_complete


@pytest.mark.parametrize("name", TEXTS)
def test_a_rollback_takes_the_limit_back_too(name):
    vocabulary, (begin, root) = tiny_vocabulary(), TEXTS[name]
    grammar = compiled(root, begin, 5, vocabulary)
    matcher, chance = grammar.matcher(), random.Random(2)
    seen = []
    for _ in range(25):
        if matcher.is_terminated:
            break
        seen.append(allowed(matcher, vocabulary))
        assert matcher.accept_token(chance.choice(seen[-1]))
    for num_back in (1, 2, 5, 9, 40):
        num_back = min(num_back, len(seen))
        matcher.rollback(num_back)
        del seen[len(seen) - num_back + 1 :]
        assert allowed(matcher, vocabulary) == seen.pop()
        if not seen:
            break


def test_a_text_that_must_close_ends_its_block_too():
    vocabulary = tiny_vocabulary()
    matcher = compiled(THOUGHTS, "", 100, vocabulary).matcher()
    row, chance, text = np.zeros(vocabulary.num_words, np.int32), random.Random(3), b""
    for left in range(40, 0, -1):
        if matcher.is_terminated:
            break
        matcher.fill_closing_bitmask(row, left)
        tokens = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        token = int(chance.choice(tokens))
        assert matcher.accept_token(token)
        text += spelled(vocabulary, token)
    assert matcher.is_complete
    assert END.encode() in text
