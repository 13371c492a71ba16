"""Vocabulary: the tokens of a model as bytes, its control and end tokens, its padded width."""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from grammars.automata.dfa import NUM_BYTES
from grammars.errors import InvalidGrammarError, VocabularyError
from grammars.text_encoder import TextEncoder
from grammars.tokenizer_json import read_token_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Derived = TypeVar("Derived")

_TEXT_BYTES: Final = frozenset([*range(0xC0), *range(0xC2, 0xF5)])
"""The bytes of well-formed UTF-8 (RFC 3629, section 4)."""

_DISPENSABLE_BYTES: Final = frozenset([*range(0x20), 0x7F, 0xF1, 0xF2]) - frozenset(b"\t\n\r")
"""Bytes that a tokenizer may lack (SmolLM2's does): control characters, which JSON escapes, and the
lead bytes of U+40000 to U+BFFFF, planes in which Unicode assigns no character."""


@dataclass(frozen=True, slots=True)
class ControlToken:
    """A token that is no text: it enters the output only where a structure names it.

    Args:
        token_id: its id.
        text: how it is spelled, as `<tool_call>`.
    """

    token_id: int
    text: str


class Vocabulary:
    """What a grammar needs to know of a tokenizer and its model; immutable, compared by identity.

    Every byte of UTF-8 text is a token of its own (checked) but for `missing_bytes`, so a text that
    can go on without those has a token to go on with.

    Args:
        tokenizer_json: path or content of the tokenizer.json.
        padded_size: rows of the model's output layer; ids without a token are never allowed.
        end_token_ids: every id that ends a text (of the tokenizer and of the generation config).

    Attributes:
        token_bytes: token id -> bytes of each text token; no control and no end token.
        controls: the control tokens by id; number i is symbol 256 + i of the automata.
        end_token_ids: ascending.
        padded_size: as given.
        missing_bytes: bytes of UTF-8 that no token spells; control characters, or lead bytes of
            unassigned planes. Automata that need one cannot be followed.
        digest: hex SHA-256 of all of this; equal vocabularies have equal digests.

    Raises:
        VocabularyError: the tokenizer is of another kind, cannot spell every byte, or does not fit
            the model.
    """

    def __init__(
        self, tokenizer_json: Path | bytes, *, padded_size: int, end_token_ids: Iterable[int]
    ) -> None:
        self._source = (
            tokenizer_json.read_bytes() if isinstance(tokenizer_json, Path) else tokenizer_json
        )
        table = read_token_table(self._source)
        self.padded_size = padded_size
        self.end_token_ids = tuple(sorted(set(end_token_ids)))
        self._check_ids([*table.token_bytes, *table.controls])
        ends = set(self.end_token_ids)
        self.token_bytes = {
            token_id: data
            for token_id, data in sorted(table.token_bytes.items())
            if token_id not in ends
        }
        self.controls = tuple(
            ControlToken(token_id, text) for token_id, text in sorted(table.controls.items())
        )
        self.missing_bytes = self._find_missing_bytes()
        self.digest = self._compute_digest()
        self._derived: dict[object, object] = {}
        self._lock = threading.RLock()

    @property
    def num_words(self) -> int:
        """int32 words of a bitmask row."""
        return (self.padded_size + 31) // 32

    @property
    def num_symbols(self) -> int:
        """Symbols of the automata: the bytes, then the control tokens."""
        return NUM_BYTES + len(self.controls)

    def encode(self, data: bytes) -> list[int]:
        """Token ids whose bytes join to `data`: the tokenizer's own choice where `data` is text.

        Never a control token, whatever `data` spells.

        Raises:
            VocabularyError: a byte that is in no UTF-8 text is spelled by no token.
        """
        with self._lock:
            return self._encoder.encode(data)

    def control_symbol(self, text: str) -> int | None:
        """The symbol (256 + index) of the control token spelled `text`; None for end tokens too."""
        return self._control_symbols.get(text)

    def control_token_id(self, symbol: int) -> int:
        """The token id of a control symbol."""
        return self.controls[symbol - NUM_BYTES].token_id

    def split_controls(self, text: str) -> list[bytes | int]:
        """Cut a literal at the spellings of control tokens, the longest first.

        Returns:
            Bytes of the text between, never empty, and symbols of the control tokens.

        Raises:
            InvalidGrammarError: it spells an end token, which stands only where a text is complete,
                or holds half of a character of UTF-16.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidGrammarError(
                f"the literal {text!r} holds a lone surrogate, no character", keyword="Literal"
            ) from error
        parts: list[bytes | int] = []
        for index, piece in enumerate(self._control_pattern.split(text)):
            if index % 2 == 0:
                parts += [piece.encode()] if piece else []
                continue
            symbol = self.control_symbol(piece)
            if symbol is None:
                raise InvalidGrammarError(
                    f"the literal {text!r} spells the end token {piece!r}, which may only follow a "
                    "complete text; leave it out",
                    keyword="Literal",
                )
            parts.append(symbol)
        return parts

    def derive(self, build: Callable[[Vocabulary], Derived]) -> Derived:
        """The result of `build(self)`, made once and kept as long as the vocabulary."""
        with self._lock:
            if build not in self._derived:
                self._derived[build] = build(self)
            return self._derived[build]  # type: ignore[return-value]  # stored under its own builder

    @cached_property
    def _encoder(self) -> TextEncoder:
        return TextEncoder(self._source, self.token_bytes)

    @cached_property
    def _control_symbols(self) -> dict[str, int]:
        return {
            control.text: NUM_BYTES + index
            for index, control in enumerate(self.controls)
            if control.token_id not in self.end_token_ids
        }

    @cached_property
    def _control_pattern(self) -> re.Pattern[str]:
        """One group: a control token's spelling, the longest of those that begin at a place."""
        texts = sorted((control.text for control in self.controls), key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, texts)) or '(?!)'})")

    def _check_ids(self, known_ids: list[int]) -> None:
        if not self.end_token_ids:
            raise VocabularyError("no end token id is given, so no text could end")
        largest = max(known_ids)
        if largest >= self.padded_size:
            raise VocabularyError(
                f"the tokenizer has id {largest}, but the model has only {self.padded_size} rows"
            )
        unknown = [x for x in self.end_token_ids if not 0 <= x < self.padded_size]
        if unknown:
            raise VocabularyError(f"end token ids {unknown} are not among {self.padded_size} rows")

    def _find_missing_bytes(self) -> frozenset[int]:
        single = {data[0] for data in self.token_bytes.values() if len(data) == 1}
        missing = _TEXT_BYTES - single
        needed = " ".join(f"{byte:02X}" for byte in sorted(missing - _DISPENSABLE_BYTES))
        if needed:
            raise VocabularyError(f"no token stands for these single bytes of UTF-8: {needed}")
        return missing

    def _compute_digest(self) -> str:
        digest = hashlib.sha256(self._source)
        digest.update(f"{self.padded_size} {self.end_token_ids}".encode())
        return digest.hexdigest()
