"""A prompt that is far too long is refused by its characters, before it is tokenised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from server.chat.least_tokens import LeastTokens
from tests.fuzz.budget import examples

CORPUS = ["the theatre", "----------------", "                ", "éèé e\u0301", "日本語の本"] * 20


def trained(*, nfc: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet)
    )
    return tokenizer


def texts() -> st.SearchStrategy[str]:
    words = st.sampled_from([*CORPUS, "a", " ", "-", "é", "e\u0301", "ﬀ", "本", "\n"])
    return st.lists(words, max_size=40).map("".join) | st.text()


@pytest.mark.parametrize("nfc", [False, True])
def test_no_text_comes_to_fewer_tokens(nfc):
    tokenizer = trained(nfc=nfc)
    least = LeastTokens(tokenizer.get_vocab(), normalises=nfc)

    @examples(100)
    @given(texts())
    def check(text):
        assert least.of(text) <= len(tokenizer.encode(text).ids)

    check()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ab" * 50, 50), ("a b " * 25, 50), ("-" * 100, 6), ("日本" * 50, 50), ("", 0)],
)
def test_long_runs_in_the_vocabulary_do_not_weaken_the_bound(text, expected):
    tokens = ["-" * 16, "ab", "a", "b", " ", "日", "本"]
    assert LeastTokens(tokens, normalises=False).of(text) == expected
