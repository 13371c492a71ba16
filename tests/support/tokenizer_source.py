"""The tiny tokenizer as the benchmarks take it."""

from __future__ import annotations

from benchmarks.tokenizer_source import TokenizerSource
from tests.support.tokenizers import TINY_PADDED_SIZE, tiny_tokenizer_json, tiny_vocabulary


def tiny_source() -> TokenizerSource:
    """Made in code, so that no file is needed."""
    end_token_ids = tiny_vocabulary().end_token_ids
    return TokenizerSource("tiny", tiny_tokenizer_json(), TINY_PADDED_SIZE, end_token_ids)
