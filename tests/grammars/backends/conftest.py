"""The tiny tokenizer under a model whose last bitmask word is not full, and texts judged."""

from __future__ import annotations

import pytest

from grammars.vocabulary import Vocabulary
from tests.support.tokenizers import tiny_tokenizer_json, tiny_vocabulary


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    ends = tiny_vocabulary().end_token_ids
    return Vocabulary(tiny_tokenizer_json(), padded_size=330, end_token_ids=ends)


@pytest.fixture(scope="session")
def accepts(vocabulary):
    """accepts(compiled, text): whether every token is accepted and the text is then complete."""

    def judge(compiled, text: str) -> bool:
        matcher = compiled.matcher()
        token_ids = vocabulary.encode(text.encode())
        return all(map(matcher.accept_token, token_ids)) and matcher.is_complete

    return judge
