"""Tightrope's own compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.compile import compile_grammar
from grammars.masks.warmup import warm_up
from grammars.spec import JsonSchema

if TYPE_CHECKING:
    from benchmarks.engines.base import Json
    from benchmarks.tokenizer_source import TokenizerSource
    from grammars.protocol import Bitmask, CompiledGrammar, GrammarMatcher
    from grammars.vocabulary import Vocabulary


def make_engine(tokenizer: TokenizerSource, mode: str) -> TightropeEngine:  # noqa: ARG001
    """The compiler without `grammars.cache`, its kernels loaded as the server does at its start."""
    vocabulary = tokenizer.vocabulary()
    warm_up(vocabulary)
    return TightropeEngine(vocabulary)


class TightropeEngine:
    """`compile_grammar` with the default limits."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._row = np.zeros(vocabulary.num_words, np.int32)

    def compile(self, schema: Json) -> TightropeGrammar:
        compiled = compile_grammar(JsonSchema.from_value(schema), self._vocabulary)
        return TightropeGrammar(compiled, self._row)


class TightropeGrammar:
    """A compiled grammar; its matchers share one row."""

    def __init__(self, compiled: CompiledGrammar, row: Bitmask) -> None:
        self._compiled = compiled
        self._row = row

    def matcher(self) -> TightropeMatcher:
        return TightropeMatcher(self._compiled.matcher(), self._row)


class TightropeMatcher:
    """The matcher looks the token up itself."""

    def __init__(self, matcher: GrammarMatcher, row: Bitmask) -> None:
        self._matcher = matcher
        self._row = row

    def compute_mask(self) -> None:
        self._matcher.fill_bitmask(self._row)

    def commit_token(self, token_id: int) -> bool:
        return self._matcher.accept_token(token_id)

    def can_end(self) -> bool:
        return self._matcher.is_complete
