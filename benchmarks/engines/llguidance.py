"""llguidance, as MaskBench drives it: a matcher that is copied for every instance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import llguidance
import numpy as np

if TYPE_CHECKING:
    from benchmarks.engines.base import Json
    from benchmarks.tokenizer_source import TokenizerSource


def make_engine(tokenizer: TokenizerSource, mode: str) -> LLGuidanceEngine:  # noqa: ARG001
    """The library with its default slices and options."""
    return LLGuidanceEngine(
        llguidance.LLTokenizer(
            tokenizer.tokenizer_json.decode(),
            n_vocab=tokenizer.padded_size,
            eos_token=list(tokenizer.end_token_ids),
        )
    )


class LLGuidanceEngine:
    """`LLMatcher` of a grammar that is one JSON Schema."""

    def __init__(self, tokenizer: llguidance.LLTokenizer) -> None:
        self._tokenizer = tokenizer
        self._row = np.zeros((tokenizer.vocab_size + 31) // 32, np.int32)

    def compile(self, schema: Json) -> LLGuidanceGrammar:
        grammar = json.dumps({"grammars": [{"json_schema": schema}]})
        matcher = llguidance.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return LLGuidanceGrammar(matcher, self._row)


class LLGuidanceGrammar:
    """A matcher at the start of the text."""

    def __init__(self, prototype: Any, row: np.ndarray[Any, np.dtype[np.int32]]) -> None:  # noqa: ANN401 - untyped library
        self._prototype = prototype
        self._row = row

    def matcher(self) -> LLGuidanceMatcher:
        return LLGuidanceMatcher(self._prototype.deep_copy(), self._row)


class LLGuidanceMatcher:
    """The mask decides about a token; what it allows is consumed."""

    def __init__(self, matcher: Any, row: np.ndarray[Any, np.dtype[np.int32]]) -> None:  # noqa: ANN401 - untyped library
        self._matcher = matcher
        self._row = row
        self._address = row.ctypes.data

    def compute_mask(self) -> None:
        self._matcher.unsafe_compute_mask_ptr(self._address, self._row.nbytes)

    def commit_token(self, token_id: int) -> bool:
        if self._row[token_id >> 5] >> (token_id & 31) & 1:
            return bool(self._matcher.consume_token(token_id))
        if self._matcher.is_error():
            raise ValueError(self._matcher.get_error())
        return False

    def can_end(self) -> bool:
        return bool(self._matcher.is_accepting())
