"""DistinctPoint: where a text is, and what was written in its frames where texts must differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from grammars.masks.json_scan import OUTSIDE, unwritten_bytes
from grammars.masks.spellings import Cursor, cursors_of, form_of, num_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammars.masks.reference import PlainConfiguration

_Rope: TypeAlias = "tuple[_Rope, bytes] | None"
"""A text in pieces, the last one first: texts that share a beginning share its memory."""

_COMMA: Final = ord(",")


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A finished text, and those before it in its frame.

    Args:
        beginnings: of all spellings of the text.
        before: those before it.
        num_words: how many words all these have for any one terminal, at most; see `num_words`.
        num_texts: how many these are.
    """

    beginnings: tuple[Cursor, ...]
    before: Seen | None
    num_words: int
    num_texts: int


def seen_after(seen: Seen | None, text: bytes, *, is_key: bool) -> Seen:
    """Earlier texts and one more, in canonical spelling."""
    beginnings = cursors_of(text if is_key else form_of(text))
    num_texts = 1 if seen is None else seen.num_texts + 1
    return Seen(beginnings, seen, num_words_of(seen) + num_words(text), num_texts)


def num_words_of(seen: Seen | None) -> int:
    """`Seen.num_words`, also of no texts."""
    return 0 if seen is None else seen.num_words


@dataclass(frozen=True, slots=True, eq=False)
class DistinctFrame:
    """A frame in which texts must differ.

    Args:
        depth: frames below it on the stack.
        has_keys: whether keys must differ; else elements.
        seen: the texts that are finished.
        is_open: whether a text is being written.
        text: of it what earlier tokens wrote.
        tail: of it what the last token wrote.
        cursors: where it is in the earlier texts that it may still become.
        is_endless: whether the keys are `Distinct.ENDLESS_KEYS`.
    """

    depth: int
    has_keys: bool
    seen: Seen | None = None
    is_open: bool = True
    text: _Rope = None
    tail: bytes = b""
    cursors: tuple[Cursor, ...] = ()
    is_endless: bool = False

    @property
    def num_elements(self) -> int:
        """How many elements have been written, with the one that is being written."""
        if self.has_keys:
            return 0
        return self.is_open + (0 if self.seen is None else self.seen.num_texts)

    @property
    def has_begun(self) -> bool:
        """Whether a text is being written."""
        return self.is_open and (bool(self.tail) or self.text is not None)

    @property
    def is_free(self) -> bool:
        """Whether no text is being written that may still become an earlier one."""
        return not (self.is_open and self.cursors)

    @property
    def num_words_now(self) -> int:
        """How many words earlier texts have for the terminal at hand, at most, without a gap."""
        if not self.is_open:
            return 0
        if any(b"\\u" in cursor.text for cursor in self.cursors):  # digits in either case
            return num_words_of(self.seen)
        # There may be a gap after a key; a text without colons is no key and has none.
        return len(self.cursors) + sum(b":" in cursor.text for cursor in self.cursors)

    @property
    def num_words_soon(self) -> int:
        """The same for a terminal behind the end of the text that is being written."""
        return num_words_of(self.seen) + (num_words(self.written) if self.is_open else 0)

    @property
    def written(self) -> bytes:
        """The text that is being written."""
        return _written((self.text, self.tail))

    def fed(self, byte: int) -> DistinctFrame:
        """The frame after a byte of canonical spelling."""
        if not self.is_open or (byte == _COMMA and not self.has_begun):
            return self  # the comma before a key
        cursors = tuple([after for cursor in self.cursors for after in cursor.step(byte)])
        return self._open(self.text, self.tail + bytes((byte,)), cursors)

    def fed_content(self, content: bytes, cursors: Iterable[Cursor]) -> DistinctFrame:
        """The frame after more of a string, with those of its cursors that go on with it."""
        if not self.is_open:
            return self
        after = tuple([cursor.skip(len(content)) for cursor in cursors])
        return self._open(self.text, self.tail + content, after)

    def opened(self) -> DistinctFrame:
        """The frame before its next text."""
        return self._open(None, b"", tuple(_beginnings(self.seen)))

    def closed(self) -> DistinctFrame:
        """The frame after its text has ended."""
        seen = seen_after(self.seen, self.written, is_key=self.has_keys)
        return DistinctFrame(
            self.depth, self.has_keys, seen, is_open=False, is_endless=self.is_endless
        )

    def sealed(self) -> DistinctFrame:
        """The same frame, ready for the next token."""
        return self._open((self.text, self.tail), b"", self.cursors) if self.tail else self

    def _open(self, text: _Rope, tail: bytes, cursors: tuple[Cursor, ...]) -> DistinctFrame:
        """The same frame with a text that is being written."""
        return DistinctFrame(
            self.depth, self.has_keys, self.seen, True, text, tail, cursors, self.is_endless
        )


@dataclass(frozen=True, slots=True, eq=False)
class DistinctPoint:
    """Where a text is.

    Args:
        plain: where the automaton is.
        frames: the frames in which texts must differ, the outermost first.
        scanned: where the JSON scanner is; OUTSIDE while there are no frames.
    """

    plain: PlainConfiguration
    frames: tuple[DistinctFrame, ...] = ()
    scanned: int = OUTSIDE

    @property
    def is_free(self) -> bool:
        """Whether no text of a frame may still become an earlier one, nor is about to begin."""
        return not self.is_before_element and all(frame.is_free for frame in self.frames)

    @property
    def may_end_plainly(self) -> bool:
        """Whether it is free, but for keys that never run out."""
        return not self.is_before_element and all(
            frame.is_free or frame.is_endless for frame in self.frames
        )

    @property
    def is_before_element(self) -> bool:
        """Whether the comma before an element has been read, but perhaps not yet its gap."""
        return self.is_between_elements and not self.plain.is_fresh

    @property
    def is_between_elements(self) -> bool:
        """Whether an element has ended, and the next one has not begun."""
        if not self.frames:
            return False
        frame = self.frames[-1]
        is_between = not frame.is_open and not frame.has_keys
        return is_between and frame.depth == len(self.plain.below)

    @property
    def num_words(self) -> int:
        """How many words earlier texts have for the terminal at hand, at most."""
        num_words = sum(frame.num_words_now for frame in self.frames)
        return 2 * num_words if self._may_have_gap else num_words

    @property
    def _may_have_gap(self) -> bool:
        """Whether there may be a gap before the word, so that it is spelled in two ways."""
        if self.scanned != OUTSIDE:
            return False
        frame = self.frames[-1]
        is_in_element = not frame.has_keys and frame.has_begun
        return not (is_in_element and frame.depth == len(self.plain.below))

    @property
    def expected_bytes(self) -> frozenset[int]:
        """The bytes of canonical spelling with which a text stays among earlier ones."""
        frames = self.frames
        if self.is_before_element:
            frames = (*frames[:-1], frames[-1].opened())
        return frozenset(
            cursor.text[cursor.offset]
            for frame in frames
            if frame.is_open
            for cursor in frame.cursors
            if not cursor.is_finished
        )

    @property
    def staying_bytes(self) -> frozenset[int]:
        """The bytes that may leave a text among earlier ones, or end it as one."""
        return self.expected_bytes | unwritten_bytes(self.scanned)

    def sealed(self) -> DistinctPoint:
        """The same point, ready for the next token."""
        frames = tuple(frame.sealed() for frame in self.frames)
        return DistinctPoint(self.plain, frames, self.scanned)


def _beginnings(seen: Seen | None) -> Iterator[Cursor]:
    while seen is not None:
        yield from seen.beginnings
        seen = seen.before


def _written(rope: _Rope) -> bytes:
    pieces = []
    while rope is not None:
        rope, piece = rope
        pieces.append(piece)
    return b"".join(reversed(pieces))
