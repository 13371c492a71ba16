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

from typing import TYPE_CHECKING, Final, Protocol

from grammars.automata.dfa import DEAD, NUM_BYTES
from grammars.masks.distinct_point import DistinctFrame, DistinctPoint, num_words_of
from grammars.masks.earlier_words import EarlierWords
from grammars.masks.json_scan import OUTSIDE, scan
from grammars.pushdown.distinct import Distinct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grammars.masks.reference import PlainConfiguration, ReferenceWalk
    from grammars.masks.text_counts import TextCounts
    from grammars.pushdown.distinct import NextElement
    from grammars.pushdown.tables import AutomatonTables

_SPACES: Final = b" \t\n\r"


class DistinctStates(Protocol):
    """The structural layer, as this walk sees it."""

    @property
    def may_repeat_keys(self) -> bool:
        """Whether there are undeclared keys that must differ."""
        ...

    def distinct_texts(self, state: int) -> Distinct:
        """What must differ in the frame that a state opens."""
        ...

    def after_repeat(self, state: int) -> int:
        """What a state becomes if the text before it is not the first of its kind; 0: nothing."""
        ...

    def next_element(self, state: int) -> NextElement | None:
        """The element behind a comma that a state reads, where it must differ from others."""
        ...

    def num_counted(self, state: int) -> int:
        """How many elements an array has at least where a state stands in its frame."""
        ...


class DistinctWalk:
    """Reads symbols; both of its other parts may expand the tables, whose lock must be held.

    Args:
        walk: the automaton.
        states: where texts must differ.
        tables: of the automaton.
        counts: of its words; None looks ahead byte by byte alone, as the reference of that.
    """

    def __init__(
        self,
        walk: ReferenceWalk,
        states: DistinctStates,
        tables: AutomatonTables,
        counts: TextCounts | None = None,
    ) -> None:
        self._walk = walk
        self._states = states
        self._tables = tables
        self._counts = counts
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
        """Whether the text can be completed; the point itself comes of steps that are alive.

        It can wherever it may leave what was written before: a word of its terminal that no earlier
        text has is enough, so counting words spares most of the search.
        """
        pending = [point]
        while pending:
            current = pending.pop()
            if current.is_free or self._has_room(current):
                return True
            words = self.words_at(current)
            if words is None:
                read = (self.read_symbol(current, byte) for byte in self._likely_bytes(current))
            elif self._counts is not None and self._counts.at(current.plain) > len(words):
                return True
            else:
                read = (self.read_word(words, word) for word in words)
            pending += [after for after in read if after is not None]
        return False

    def words_at(self, point: DistinctPoint) -> EarlierWords | None:
        """The words of earlier texts that the automaton reads from inside of a string to its end.

        None where that is not looked at: in keys, in strings that are read in pieces or whose
        characters are counted, and outside of strings.
        """
        if self._counts is None or self._walk.counts_characters(point.plain):
            return None
        words = EarlierWords.at(point)
        if words is None:
            return None
        found = []
        for word in words:
            end = self._walk.shift_all(point.plain, word)
            if end is not None and self._walk.is_closed(end):
                found.append(word)
            elif end is not None or self._walk.read(point.plain, word) is not None:
                return None  # its terminal ends behind it or before
        return words.only(found)

    def read_word(self, words: EarlierWords, word: bytes) -> DistinctPoint | None:
        """The point after one of the words of `words_at`, None where it is refused."""
        before_quote = self._walk.shift_all(words.point.plain, word[:-1])
        assert before_quote is not None, "the automaton reads the word"
        return self.read_symbol(words.before_quote(word, before_quote), word[-1])

    def shift_plainly(self, place: PlainConfiguration, symbol: int) -> PlainConfiguration:
        """Where the automaton alone comes to inside of a word of `words_at`."""
        after = self._walk.shift_all(place, (symbol,))
        assert after is not None, "the automaton reads the word"
        return after

    def num_words(self, place: PlainConfiguration) -> int:
        """How many words may follow to the end of a terminal, see `TextCounts`.

        Of the next one, where that of the place may end.
        """
        if self._counts is None:
            return 0
        fired = None if place.is_fresh else self._walk.fire(place)
        return self._counts.at(place if fired is None else fired)

    def read_plainly(
        self, place: PlainConfiguration, symbols: Iterable[int]
    ) -> PlainConfiguration | None:
        """Where the automaton alone comes to."""
        return self._walk.read(place, symbols)

    def _has_room(self, point: DistinctPoint) -> bool:
        """Whether there are surely words that no earlier text has here."""
        if self._counts is None:
            return False
        if not point.is_between_elements:
            return self._counts.at(point.plain) > point.num_words
        if not point.is_before_element:
            return False  # of the words that follow, a comma may lead nowhere
        taken = point.num_words + 2 * num_words_of(point.frames[-1].seen)
        return self.num_words(point.plain) > taken

    def fresh(self, state: int) -> PlainConfiguration:
        """A state of which nothing has been read, with nothing below it."""
        return self._walk.fresh(state, ())

    def ended(self, point: DistinctPoint) -> DistinctPoint | None:
        """The point after the end of the terminal at hand, None where it may not end."""
        return None if point.plain.is_fresh else self._fire(point)

    def kinds_of_bytes(self, point: DistinctPoint) -> Iterator[tuple[int, int | None]]:
        """The bytes that may be read, but for spaces; those of one kind lead to the same place.

        None is the kind of all those that end the terminal at hand.
        """
        spaces = _SPACES if point.scanned == OUTSIDE else b""
        own = self._lexer_bytes(point.plain.lexer)
        dfa, _ = self._tables.lexers.locate(point.plain.lexer)
        yield from ((byte, int(dfa.symbol_class[byte])) for byte in own if byte not in spaces)
        for byte in self._readable_bytes(point.plain):
            if byte not in own and byte not in spaces:
                yield byte, None

    def ways_out(self, point: DistinctPoint) -> Iterator[tuple[int, DistinctPoint]]:
        """Where a text goes on its ways out of earlier ones, and how many bytes on.

        Of the bytes that leave them, the first of each kind.
        """
        ended = self.ended(point)
        if ended is not None and ended.is_free:
            yield 0, ended
        staying = point.staying_bytes
        kinds: set[int | None] = set()
        for byte, kind in self.kinds_of_bytes(point):
            if byte not in staying:
                if kind in kinds and kind is not None:
                    continue
                kinds.add(kind)
            after = self.read_symbol(point, byte)
            if after is not None:
                yield 1, after

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
            dfa, local = self._tables.lexers.locate(lexer)
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
