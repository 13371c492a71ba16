"""maskforge with its compiler's own cache and all whitespace of JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import maskforge

from grammars.backends.base import padded_token_bytes

if TYPE_CHECKING:
    from benchmarks.engines.base import Json
    from benchmarks.tokenizer_source import TokenizerSource


def make_engine(tokenizer: TokenizerSource, mode: str) -> MaskForgeEngine:  # noqa: ARG001
    """The library with its defaults."""
    tokens = padded_token_bytes(tokenizer.vocabulary(), tokenizer.padded_size)
    return MaskForgeEngine(
        maskforge.Vocabulary.from_id_ordered_tokens(
            [data or None for data in tokens], eos_token_id=tokenizer.end_token_ids[0]
        )
    )


class MaskForgeEngine:
    """`Compiler.compile`, then `bind` to the vocabulary."""

    def __init__(self, vocabulary: maskforge.Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._compiler = maskforge.Compiler()

    def compile(self, schema: Json) -> MaskForgeGrammar:
        program: maskforge.SchemaProgram[object] = self._compiler.compile(json.dumps(schema))
        return MaskForgeGrammar(program.bind(self._vocabulary))


class MaskForgeGrammar:
    """A schema bound to the vocabulary; its sessions share one row."""

    def __init__(self, bound: maskforge.BoundSchema[object]) -> None:
        self._bound = bound
        self._row = bytearray(4 * bound.mask_word_count)

    def matcher(self) -> MaskForgeMatcher:
        return MaskForgeMatcher(self._bound.start_session(), self._row)


class MaskForgeMatcher:
    """The mask decides about a token; what it allows advances the session."""

    def __init__(self, session: maskforge.Session[object], row: bytearray) -> None:
        self._session = session
        self._row = row

    def compute_mask(self) -> None:
        self._session.write_mask(self._row)

    def commit_token(self, token_id: int) -> bool:
        is_allowed = bool(self._row[token_id >> 3] >> (token_id & 7) & 1)  # little endian words
        if is_allowed:
            self._session.advance(token_id)
        return is_allowed

    def can_end(self) -> bool:
        return bool(self._session.is_accepting)
