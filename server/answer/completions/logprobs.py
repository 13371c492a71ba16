"""TokenList: log probabilities in the older form, four lists side by side."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.output import TokenLogprobs
    from server.answer.bodies import Json
    from server.reply.spelling import Spellings


class TokenList:
    """Tells the tokens of one answer, each with the place of its text.

    Args:
        spellings: of the model's tokens.
    """

    def __init__(self, spellings: Spellings) -> None:
        self._spellings = spellings
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._num_chars = 0

    def first(self, token_id: int, *, is_shown: bool) -> Json:
        """The first token of an echoed prompt, which has no log probability.

        Args:
            token_id: the token.
            is_shown: whether the text has it, or the tokenizer put it there by itself.
        """
        data = self._spellings.bytes_of(token_id) if is_shown else b""
        return {
            "tokens": [self._spellings.name_of(token_id)],
            "token_logprobs": [None],
            "top_logprobs": [None],
            "text_offset": [self._offset(data)],
        }

    def more(self, logprobs: Iterable[TokenLogprobs], *, is_echo: bool) -> Json:
        """Further tokens; of each also the likeliest in its place, itself among them.

        Args:
            logprobs: of the tokens.
            is_echo: they are the prompt's; in an answer control tokens are not shown.
        """
        name = self._spellings.name_of
        data_of = self._spellings.bytes_of if is_echo else self._spellings.text_bytes_of
        entries = list(logprobs)
        return {
            "tokens": [name(entry.token_id) for entry in entries],
            "token_logprobs": [entry.logprob for entry in entries],
            "top_logprobs": [
                {name(token_id): logprob for token_id, logprob in entry.top}
                | {name(entry.token_id): entry.logprob}
                for entry in entries
            ],
            "text_offset": [self._offset(data_of(entry.token_id)) for entry in entries],
        }

    def _offset(self, data: bytes) -> int:
        """Characters before the token of these bytes; parts of one stand where it begins."""
        offset = self._num_chars
        self._num_chars += len(self._decoder.decode(data))
        return offset


def joined(parts: Iterable[Json]) -> Json:
    """Lists of the same answer, one behind the other."""
    whole: dict[str, list[object]] = {
        name: [] for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")
    }
    for part in parts:
        for name, values in whole.items():
            more = part[name]
            assert isinstance(more, list)
            values += more
    return dict(whole)
