"""Detokenizer: token ids to pieces of text, as they come, never splitting a character."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from grammars.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Generated text; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class TagPiece:
    """A control token that the reply format names."""

    tag: str


Piece: TypeAlias = TextPiece | TagPiece


class Detokenizer:
    """The text of one sequence.

    Control tokens named in `tags` come through as such, all others are hidden. Bytes that are no
    UTF-8 become U+FFFD. The text is the tokens' own bytes: no space is added or taken.

    Args:
        vocabulary: of the model.
        tags: the spellings that the reply parser reads.
    """

    def __init__(self, vocabulary: Vocabulary, tags: Collection[str]) -> None:
        self._token_bytes = vocabulary.token_bytes
        self._tag_of_token = {
            control.token_id: control.text
            for control in vocabulary.controls
            if control.text in tags
        }
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, token_ids: Collection[int]) -> Iterator[Piece]:
        """The pieces that more tokens bring, neighbouring text as one."""
        data = bytearray()
        for token_id in token_ids:
            tag = self._tag_of_token.get(token_id)
            if tag is None:
                data += self._token_bytes.get(token_id, b"")
                continue
            yield from self._decode(data, is_last=True)
            data.clear()
            yield TagPiece(tag)
        yield from self._decode(data, is_last=False)

    def finish(self) -> Iterator[Piece]:
        """What is left of a character that was never completed."""
        yield from self._decode(b"", is_last=True)

    def _decode(self, data: bytes | bytearray, *, is_last: bool) -> Iterator[Piece]:
        text = self._decoder.decode(bytes(data), final=is_last)
        if text:
            yield TextPiece(text)


def token_text(vocabulary: Vocabulary, token_id: int) -> tuple[str, bytes]:
    """How one token is shown in logprobs: its text (U+FFFD for cut characters) and its bytes."""
    data = vocabulary.token_bytes.get(token_id)
    if data is None:
        spelling = next((c.text for c in vocabulary.controls if c.token_id == token_id), "")
        data = spelling.encode()
    return data.decode(errors="replace"), data
