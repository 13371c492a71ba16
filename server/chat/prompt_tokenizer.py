"""PromptTokenizer: rendered prompt text to token ids; marks by name, all else as plain text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from server.chat.shield import Marks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.chat.shield import Shield


@dataclass(frozen=True, slots=True)
class _Control:
    """An added token: its id, and which white space beside it belongs to it."""

    token_id: int
    eats_left: bool
    eats_right: bool


class PromptTokenizer:
    """Tokenises segment by segment: control tokens on in the template's text, off in all other.

    Gives the ids of the tokenizer itself for every prompt in which no caller's text spells a
    control token. Added tokens that are white space only are text.

    Args:
        tokenizer_json: the text of the tokenizer.json.
        tags: spellings that only the template may write though they may be no control tokens.
    """

    def __init__(self, tokenizer_json: str, *, tags: tuple[str, ...]) -> None:
        document = json.loads(tokenizer_json)
        self._controls = {
            added["content"]: _Control(added["id"], added["lstrip"], added["rstrip"])
            for added in document["added_tokens"]
            if not added["content"].isspace()
        }
        self.marks = Marks([*self._controls, *tags])
        self._control_marks = Marks(self._controls)
        blank = [added for added in document["added_tokens"] if added["content"].isspace()]
        document |= {"added_tokens": blank, "post_processor": None}
        self._first = Tokenizer.from_str(json.dumps(document))
        self._rest = Tokenizer.from_str(json.dumps(_without_first_prefix(document)))
        self._longest_token_bytes = max(map(_num_bytes, self._first.get_vocab()), default=1)

    def has_control(self, text: str) -> bool:
        """Whether the tokenizer has a control token of this spelling."""
        return text in self._controls

    def min_num_tokens(self, text: str) -> int:
        """A lower bound of the tokens of a text, without tokenising it."""
        # NFC, which some tokenizers apply, composes at most four characters into one.
        return len(text) // (4 * self._longest_token_bytes)

    def encode(self, rendered: str, shield: Shield) -> list[int]:
        """The token ids of rendered text.

        Args:
            rendered: template output; the caller's texts in it are protected by `shield`.
            shield: puts their characters back after the marks have been found.
        """
        token_ids: list[int] = []
        pieces = self._control_marks.pattern.split(rendered)
        for index in range(0, len(pieces), 2):
            text = pieces[index]
            if index > 0:
                before = self._controls[pieces[index - 1]]
                token_ids.append(before.token_id)
                text = text.lstrip() if before.eats_right else text
            if index + 1 < len(pieces) and self._controls[pieces[index + 1]].eats_left:
                text = text.rstrip()
            if text:
                tokenizer = self._first if index == 0 else self._rest
                encoding = tokenizer.encode(shield.restore(text), add_special_tokens=False)
                token_ids += encoding.ids
        return token_ids


def _num_bytes(token: str) -> int:
    return len(token.encode())


def _without_first_prefix(document: Mapping[str, object]) -> dict[str, object]:
    """The tokenizer as it acts behind a control token: only the very first text gets a space."""
    text = json.dumps(document["pre_tokenizer"])
    changed = text.replace('"prepend_scheme": "first"', '"prepend_scheme": "never"')
    return dict(document) | {"pre_tokenizer": json.loads(changed)}
