"""DistinctWalk: reading where texts of a frame must differ (`uniqueItems`), in plain Python.

The automaton (`ReferenceWalk`) says what a text may be; this walk also remembers what was written.
A text of a frame (an element, or a key inside of one) ends where the frame's state changes. If it
is equal to an earlier one, the state goes on without the items that forbid it.

So a text can run into a dead end, where everything that could follow was there before. `is_alive`
looks ahead; whoever takes only steps that are alive never meets one. It looks no further than
earlier texts reach: what is no beginning of an earlier text can be completed like any text of the
grammar (`schema/unique_arrays.py` sees to it that a next element can always be found).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from grammars.automata.dfa import DEAD, NUM_BYTES
from grammars.masks.endless import EndlessTerminals
from grammars.masks.json_scan import OUTSIDE, scan, unwritten_bytes
from grammars.masks.spellings import Cursor, cursors_of, form_of
from grammars.pushdown.distinct import Distinct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammars.masks.reference import PlainConfiguration, ReferenceWalk
    from grammars.masks.spellings import Form
    from grammars.pushdown.tables import AutomatonTables

_Rope: TypeAlias = "tuple[_Rope, bytes] | None"
"""A text in pieces, the last one first: texts that share a beginning share its memory."""

_PATIENCE: Final = 500
"""Bytes that are tried for a further way where one is known already."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A finished text, and those before it in its frame."""

    form: Form
    before: Seen | None


class DistinctStates(Protocol):
    """The structural layer, as this walk sees it."""

    def distinct_texts(self, state: int) -> Distinct:
        """What must differ in the frame that a state opens."""
        ...

    def after_repeat(self, state: int) -> int:
        """What a state becomes if the text before it is not the first of its kind; 0: nothing."""
        ...


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
    def is_free(self) -> bool:
        """Whether no text is being written that may still become an earlier one."""
        return not (self.is_open and self.cursors)

    @property
    def written(self) -> bytes:
        """The text that is being written."""
        return _written((self.text, self.tail))

    def fed(self, byte: int) -> DistinctFrame:
        """The frame after a byte of canonical spelling."""
        if not self.is_open or (byte == _COMMA and not self.tail and self.text is None):
            return self  # the comma before a key
        cursors = tuple([after for cursor in self.cursors for after in cursor.step(byte)])
        return replace(self, tail=self.tail + bytes((byte,)), cursors=cursors)

    def opened(self) -> DistinctFrame:
        """The frame before its next text."""
        cursors = tuple(_beginnings(self.seen))
        return replace(self, is_open=True, text=None, tail=b"", cursors=cursors)

    def closed(self) -> DistinctFrame:
        """The frame after its text has ended."""
        form = self.written if self.has_keys else form_of(self.written)
        return replace(
            self, seen=Seen(form, self.seen), is_open=False, text=None, tail=b"", cursors=()
        )

    def sealed(self) -> DistinctFrame:
        """The same frame, ready for the next token."""
        return replace(self, text=(self.text, self.tail), tail=b"") if self.tail else self


_COMMA: Final = ord(",")


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
    def is_before_element(self) -> bool:
        """Whether the comma before an element has been read, but perhaps not yet its gap."""
        if not self.frames or self.plain.is_fresh:
            return False
        frame = self.frames[-1]
        is_between = not frame.is_open and not frame.has_keys
        return is_between and frame.depth == len(self.plain.below)

    @property
    def seen(self) -> tuple[Seen | None, ...]:
        """The earlier texts of each frame."""
        return tuple(frame.seen for frame in self.frames)

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
        return replace(self, frames=tuple(frame.sealed() for frame in self.frames))


class DistinctWalk:
    """Reads symbols; both of its other parts may expand the tables, whose lock must be held.

    Args:
        walk: the automaton.
        states: where texts must differ.
        tables: of the automaton.
    """

    def __init__(
        self, walk: ReferenceWalk, states: DistinctStates, tables: AutomatonTables
    ) -> None:
        self._walk = walk
        self._states = states
        self._tables = tables
        self._endless = EndlessTerminals(tables)
        self._bytes: dict[int, bytes] = {}

    def read(self, point: DistinctPoint, symbols: Iterable[int]) -> DistinctPoint | None:
        """The point after some symbols, None where one of them is refused."""
        current: DistinctPoint | None = point
        for symbol in symbols:
            if current is None:
                return None
            current = self.read_symbol(current, symbol)
        return current

    def read_symbol(self, point: DistinctPoint, symbol: int) -> DistinctPoint | None:
        """The point after one symbol, None where it is refused."""
        while not self._walk.reads(point.plain, symbol):
            fired = self._fire(point)
            if fired is None:
                return None
            point = fired
        plain = self._walk.shift(point.plain, symbol)
        if plain is None:
            return None
        point = _fed(point, plain, symbol)
        return self._fire(point) if self._walk.is_closed(plain) else point

    def is_alive(self, point: DistinctPoint) -> bool:
        """Whether the text can be completed; the point itself comes of steps that are alive."""
        return (
            point.is_free
            or self._endless.at(point.plain)
            or (point.is_before_element and self.leads_on(point.plain))
            or any(True for _ in self._ways(point))
        )

    def leads_on(self, place: PlainConfiguration) -> bool:
        """Whether infinitely many texts of one terminal can follow, of the next one if need be."""
        if self._endless.at(place):
            return True
        fired = None if place.is_fresh else self._walk.fire(place)
        return fired is not None and self._endless.at(fired)

    def read_plainly(
        self, place: PlainConfiguration, symbols: Iterable[int]
    ) -> PlainConfiguration | None:
        """Where the automaton alone comes to."""
        return self._walk.read(place, symbols)

    def count_ways(self, point: DistinctPoint, most: int) -> int:
        """How many different texts of the innermost frame may come next, at least.

        It is exact up to `most`, unless finding the next one takes long; 0 is always exact.
        """
        index = len(point.frames) - 1
        found: set[tuple[bytes, bool]] = set()
        for before, after in self._ways(point, len(point.frames)):
            frame = before.frames[index]
            leads_on = len(after.frames) > index and after.frames[index].seen is frame.seen
            # what leaves the earlier texts differs from what ends among them, and from each other
            found.add((after.frames[index].written if leads_on else frame.written, leads_on))
            if len(found) == most:
                break
        return len(found)

    def _ways(
        self, point: DistinctPoint, num_frames: int = 0
    ) -> Iterator[tuple[DistinctPoint, DistinctPoint]]:
        """The first free points on the ways from a point, a byte on at least; those before them.

        Ways that are not free yet when they have left all but fewer than `num_frames` frames are
        given up. So are all behind the first one, when many bytes have been tried for them:
        spellings of one earlier text can be countless, and so can ways that differ only in other
        frames.
        """
        pending = [point]
        has_found, patience = False, _PATIENCE
        while pending:
            current = pending.pop()
            for byte in self._likely_bytes(current):
                if not patience:
                    return
                patience -= has_found
                after = self.read_symbol(current, byte)
                if after is not None:
                    if after.is_free:
                        has_found = True
                        yield current, after
                    elif len(after.frames) >= num_frames:
                        pending.append(after)

    def nearest_free(self, point: DistinctPoint) -> Iterator[tuple[int, DistinctPoint]]:
        """The first free points on the ways from a point, and how many bytes on; nearest first."""
        level, num_bytes = [point], 0
        while level:
            yield from ((num_bytes, found) for found in level if found.is_free)
            read = (
                self.read_symbol(found, byte)
                for found in level
                if not found.is_free
                for byte in self._likely_bytes(found)
            )
            level, num_bytes = [after for after in read if after is not None], num_bytes + 1

    def _fire(self, point: DistinctPoint) -> DistinctPoint | None:
        before = point.plain
        after = self._walk.fire(before)
        if after is None:
            return None
        depth = len(after.below)
        frames = point.frames
        if depth > len(before.below):
            kind = self._states.distinct_texts(after.state)
            if kind is not Distinct.NOTHING:
                has_keys, is_endless = kind is not Distinct.ELEMENTS, kind is Distinct.ENDLESS_KEYS
                frames = (*frames, DistinctFrame(depth, has_keys, is_endless=is_endless))
            return DistinctPoint(after, frames, point.scanned)
        if frames and frames[-1].depth > depth:
            frames = frames[:-1]
        if not frames:
            return DistinctPoint(after)
        point = DistinctPoint(after, frames, point.scanned)
        return point if frames[-1].depth < depth else self._turned(point)

    def _turned(self, point: DistinctPoint) -> DistinctPoint | None:
        """The state of the innermost frame has changed: a text has ended, or the next begins."""
        *outer, frame = point.frames
        if not frame.is_open:
            return DistinctPoint(point.plain, (*outer, frame.opened()), point.scanned)
        frames = (*outer, frame.closed())
        if not any(cursor.is_finished for cursor in frame.cursors):
            return DistinctPoint(point.plain, frames, point.scanned)
        state = self._states.after_repeat(point.plain.state)
        if state == DEAD:
            return None
        plain = self._walk.fresh(state, point.plain.below)
        return DistinctPoint(plain, frames, point.scanned)

    def _likely_bytes(self, point: DistinctPoint) -> Iterator[int]:
        """The bytes that may be read, first those that lead away from earlier texts."""
        expected = point.expected_bytes
        found = self._readable_bytes(point.plain)
        yield from (byte for byte in found if byte not in expected)
        yield from (byte for byte in found if byte in expected)

    def _readable_bytes(self, plain: PlainConfiguration) -> bytes:
        """The bytes that the lexer reads, and those that the next one reads if this one may end."""
        found = self._lexer_bytes(plain.lexer)
        fired = None if plain.is_fresh else self._walk.fire(plain)
        if fired is None:
            return found
        return bytes(dict.fromkeys(found + self._lexer_bytes(fired.lexer)))

    def _lexer_bytes(self, lexer: int) -> bytes:
        if lexer == DEAD:
            return b""
        found = self._bytes.get(lexer)
        if found is None:
            dfa, local = self._tables.locate(lexer)
            live = dfa.next_state[local][dfa.symbol_class[:NUM_BYTES]] != DEAD
            found = self._bytes[lexer] = bytes(live.nonzero()[0].tolist())
        return found


def _fed(point: DistinctPoint, plain: PlainConfiguration, symbol: int) -> DistinctPoint:
    """The point whose lexer has read a symbol, and whose frames are given it."""
    frames = point.frames
    if not frames:
        return DistinctPoint(plain)
    byte, scanned = scan(symbol, point.scanned)
    if byte is not None:
        frames = tuple([frame.fed(byte) for frame in frames])
    return DistinctPoint(plain, frames, scanned)


def _beginnings(seen: Seen | None) -> Iterator[Cursor]:
    while seen is not None:
        yield from cursors_of(seen.form)
        seen = seen.before


def _written(rope: _Rope) -> bytes:
    pieces = []
    while rope is not None:
        rope, piece = rope
        pieces.append(piece)
    return b"".join(reversed(pieces))
