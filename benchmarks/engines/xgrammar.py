"""xgrammar in both settings of MaskBench, compiling on one thread with its own cache."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import xgrammar

from grammars.backends.base import padded_token_bytes

if TYPE_CHECKING:
    from benchmarks.engines.base import Json
    from benchmarks.tokenizer_source import TokenizerSource


def make_engine(tokenizer: TokenizerSource, mode: str) -> XGrammarEngine:
    """The library in one of its modes.

    Args:
        tokenizer: the tokens.
        mode: "default", strict with fixed whitespace; or "compliant", neither.
    """
    tokens = padded_token_bytes(tokenizer.vocabulary(), tokenizer.padded_size)
    info = xgrammar.TokenizerInfo(
        tokens, xgrammar.VocabType.RAW, stop_token_ids=list(tokenizer.end_token_ids)
    )
    return XGrammarEngine(info, is_strict=mode == "default")


class XGrammarEngine:
    """`GrammarCompiler.compile_json_schema`."""

    def __init__(self, info: xgrammar.TokenizerInfo, *, is_strict: bool) -> None:
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1)
        self._row = np.zeros((info.vocab_size + 31) // 32, np.int32)
        self._is_strict = is_strict

    def compile(self, schema: Json) -> XGrammarGrammar:
        compiled = self._compiler.compile_json_schema(
            json.dumps(schema), any_whitespace=not self._is_strict, strict_mode=self._is_strict
        )
        return XGrammarGrammar(compiled, self._row)


class XGrammarGrammar:
    """A compiled grammar; its matchers share one row."""

    def __init__(self, compiled: Any, row: np.ndarray[Any, np.dtype[np.int32]]) -> None:  # noqa: ANN401 - untyped library
        self._compiled = compiled
        self._row = row

    def matcher(self) -> XGrammarMatcher:
        return XGrammarMatcher(xgrammar.GrammarMatcher(self._compiled), self._row)


class XGrammarMatcher:
    """The matcher looks the token up itself."""

    def __init__(self, matcher: Any, row: np.ndarray[Any, np.dtype[np.int32]]) -> None:  # noqa: ANN401 - untyped library
        self._matcher = matcher
        self._row = row

    def compute_mask(self) -> None:
        self._matcher.fill_next_token_bitmask(self._row)

    def commit_token(self, token_id: int) -> bool:
        return bool(self._matcher.accept_token(token_id))

    def can_end(self) -> bool:
        return bool(self._matcher.is_completed())
