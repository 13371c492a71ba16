"""Spellings: the bytes of every token, control tokens as the tokenizer spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.vocabulary import Vocabulary


class Spellings:
    """How the tokens of a model are shown to those who count and compare tokens.

    Args:
        vocabulary: of the model.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._token_bytes = vocabulary.token_bytes
        self._controls = {c.token_id: c.text.encode() for c in vocabulary.controls}

    def bytes_of(self, token_id: int) -> bytes:
        """The bytes of a token; none for an id that is no token."""
        data = self._token_bytes.get(token_id)
        return self._controls.get(token_id, b"") if data is None else data

    def text_bytes_of(self, token_id: int) -> bytes:
        """The bytes that a token adds to an answer: none for a control token."""
        return self._token_bytes.get(token_id, b"")

    def text_of(self, token_ids: Iterable[int]) -> str:
        """The text of tokens; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(map(self.bytes_of, token_ids)).decode(errors="replace")

    def name_of(self, token_id: int) -> str:
        r"""The text of one token; `bytes:\xe2\x98` for a part of a character, which has none."""
        data = self.bytes_of(token_id)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
