"""Tightrope's own compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.compile import compile_grammar
from grammars.masks.warmup import warm_up
from grammars.spec import JsonSchema

if TYPE_CHECKING:
    from benchmarks.engines.base import Json
    from benchmarks.tokenizer_source import TokenizerSource
    from grammars.masks.renewal import RenewedGrammar
    from grammars.protocol import Bitmask, GrammarMatcher
    from grammars.spec import PropertyOrder
    from grammars.vocabulary import Vocabulary


ACTIONS_AHEAD: Final = 300
"""Of "warm": as a server does it, see `ServerConfig.warm_actions`."""


def make_engine(tokenizer: TokenizerSource, mode: str) -> TightropeEngine:
    """The compiler without `grammars.cache`, its kernels loaded as the server does at its start.

    Args:
        tokenizer: the tokens.
        mode: "" for the defaults; "any-order" for keys in any order; "warm" for states ahead.
    """
    vocabulary = tokenizer.vocabulary()
    warm_up(vocabulary)
    return TightropeEngine(vocabulary, mode)


class TightropeEngine:
    """`compile_grammar` with the default limits."""

    def __init__(self, vocabulary: Vocabulary, mode: str) -> None:
        self._vocabulary = vocabulary
        self._row = np.zeros(vocabulary.num_words, np.int32)
        self._order: PropertyOrder = "any" if mode == "any-order" else "schema"
        self._grammar_class = WarmGrammar if mode == "warm" else TightropeGrammar

    def compile(self, schema: Json) -> TightropeGrammar:
        spec = JsonSchema.from_value(schema, property_order=self._order)
        return self._grammar_class(compile_grammar(spec, self._vocabulary), self._row)


class TightropeGrammar:
    """A compiled grammar; its matchers share one row."""

    def __init__(self, compiled: RenewedGrammar, row: Bitmask) -> None:
        self._compiled = compiled
        self._row = row

    def matcher(self) -> TightropeMatcher:
        return TightropeMatcher(self._compiled.matcher(), self._row)


class WarmGrammar(TightropeGrammar):
    """One whose states are made ahead of the first token."""

    def prepare(self) -> None:
        self._compiled.warm(ACTIONS_AHEAD)


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
