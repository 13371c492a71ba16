"""PromptTokenizer: rendered prompt text to token ids; marks by name, all else as plain text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from grammars.text_encoder import is_panic
from server.chat.least_tokens import LeastTokens
from server.chat.shield import Marks, Shield
from server.request_errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Mapping


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

    Raises:
        ValueError: what the tokenizer puts around texts is broken.
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
        # A prompt is neither cut nor filled up.
        document |= {"added_tokens": blank, "truncation": None, "padding": None}
        self._first = Tokenizer.from_str(json.dumps(document))
        self._before, self._behind = _special_token_ids(self._first)
        self._rest = Tokenizer.from_str(json.dumps(_without_first_prefix(document)))
        self._least_tokens = LeastTokens(
            [*self._first.get_vocab(), *self._controls],
            normalises=document.get("normalizer") is not None,
        )

    def has_control(self, text: str) -> bool:
        """Whether the tokenizer has a control token of this spelling."""
        return text in self._controls

    def min_num_tokens(self, text: str) -> int:
        """A lower bound of the tokens of a text, without tokenising it."""
        return self._least_tokens.of(text)

    def encode_text(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """The token ids of a text that is a whole prompt, and may spell control tokens.

        Args:
            text: the prompt.
            add_special_tokens: with what the tokenizer puts around a text, as Llama's first token.
        """
        token_ids = self.encode(text, Shield(self.marks, ()))
        return [*self._before, *token_ids, *self._behind] if add_special_tokens else token_ids

    def encode(self, rendered: str, shield: Shield) -> list[int]:
        """The token ids of rendered text.

        Args:
            rendered: template output; the caller's texts in it are protected by `shield`.
            shield: puts their characters back after the marks have been found.

        Raises:
            InvalidValueError: the tokenizer's own expressions give up on a text.
        """
        controls, texts, end = [], [], 0
        for found in self._control_marks.find(rendered):
            controls.append(self._controls[found[0]])
            texts.append(shield.restore(rendered[end : found.start()]))
            end = found.end()
        texts.append(shield.restore(rendered[end:]))
        for index, control in enumerate(controls):
            if control.eats_left:
                texts[index] = texts[index].rstrip()
            if control.eats_right:
                texts[index + 1] = texts[index + 1].lstrip()
        first, rest = _ids(self._first, texts[:1]), _ids(self._rest, texts[1:])
        token_ids = list(first[0])
        for control, ids in zip(controls, rest, strict=True):
            token_ids.append(control.token_id)
            token_ids += ids
        return token_ids


def _ids(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    """The token ids of each text, without special tokens, which templates write themselves."""
    try:
        # Batches, also of one: unlike `encode`, they do not hold the GIL while they work.
        encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
    except BaseException as fault:
        if not is_panic(fault):
            raise
        reason = "the model's tokenizer gave up on a text; its expressions look back too often"
        raise InvalidValueError("messages", reason) from fault
    return [encoding.ids for encoding in encodings]


def _special_token_ids(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """What the tokenizer puts before and behind every text by itself.

    Raises:
        ValueError: its post-processor is at odds with itself.
    """
    try:
        text = tokenizer.encode("a", add_special_tokens=False).ids
        framed = tokenizer.encode("a", add_special_tokens=True).ids
    except BaseException as fault:
        if not is_panic(fault):
            raise
        raise ValueError(f"its tokenizer has a broken post-processor: {fault}") from fault
    starts = (i for i in range(len(framed)) if framed[i : i + len(text)] == text)
    start = next(starts, None)
    if not text or start is None:
        raise ValueError("its tokenizer drops the text between the special tokens")
    return framed[:start], framed[start + len(text) :]


def _without_first_prefix(document: Mapping[str, object]) -> dict[str, object]:
    """The tokenizer as it acts behind a control token: only the very first text gets a space."""
    text = json.dumps(document["pre_tokenizer"])
    changed = text.replace('"prepend_scheme": "first"', '"prepend_scheme": "never"')
    return dict(document) | {"pre_tokenizer": json.loads(changed)}
