"""outlines-core: schema to regex to an index of all states and tokens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from outlines_core import Guide, Index, Vocabulary
from outlines_core.json_schema import build_regex_from_schema

if TYPE_CHECKING:
    from benchmarks.engines.base import Json
    from benchmarks.tokenizer_source import TokenizerSource
    from grammars.protocol import Bitmask


def make_engine(tokenizer: TokenizerSource, mode: str) -> OutlinesCoreEngine:  # noqa: ARG001
    """The library with its defaults."""
    ids_of: dict[bytes, list[int]] = {}
    vocabulary = tokenizer.vocabulary()
    for token_id, data in vocabulary.token_bytes.items():
        ids_of.setdefault(data, []).append(token_id)
    return OutlinesCoreEngine(
        Vocabulary(tokenizer.end_token_ids[0], ids_of), np.zeros(vocabulary.num_words, np.int32)
    )


class OutlinesCoreEngine:
    """`build_regex_from_schema`, then `Index`."""

    def __init__(self, vocabulary: Vocabulary, row: Bitmask) -> None:
        self._vocabulary = vocabulary
        self._row = row

    def compile(self, schema: Json) -> OutlinesCoreGrammar:
        regex = build_regex_from_schema(json.dumps(schema))
        return OutlinesCoreGrammar(Index(regex, self._vocabulary), self._row)


class OutlinesCoreGrammar:
    """An index; its guides share one row."""

    def __init__(self, index: Index, row: Bitmask) -> None:
        self._index = index
        self._row = row

    def matcher(self) -> OutlinesCoreMatcher:
        return OutlinesCoreMatcher(Guide(self._index), self._row)


class OutlinesCoreMatcher:
    """The mask decides about a token; what it allows advances the guide."""

    def __init__(self, guide: Guide, row: Bitmask) -> None:
        self._guide = guide
        self._row = row

    def compute_mask(self) -> None:
        self._guide.write_mask_into(self._row.ctypes.data, self._row.size, self._row.itemsize)

    def commit_token(self, token_id: int) -> bool:
        is_allowed = bool(self._row[token_id >> 5] >> (token_id & 31) & 1)
        if is_allowed:
            self._guide.advance(token_id, return_tokens=False)
        return is_allowed

    def can_end(self) -> bool:
        return bool(self._guide.is_finished())
