"""DistinctTokens: the tokens that the automaton allows and that would repeat what must differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.masks.json_scan import OUTSIDE, scan, scan_all
from grammars.masks.sure_tokens import MAX_WAYS, SureTokens
from grammars.masks.token_symbols import build_token_symbols
from grammars.masks.trie_children import TrieChildren

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from grammars.masks.distinct_walk import DistinctPoint, DistinctWalk
    from grammars.masks.reference import PlainConfiguration
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.protocol import Bitmask
    from grammars.vocabulary import Vocabulary

_COMMA: Final = ord(",")
_SPACE: Final = ord(" ")
_OUTSIDE_BYTES: Final = frozenset(b'{}[],: "+-.0123456789Eaeflnrstu')
_BEFORE_VALUES: Final = (b"[", b"{", b",", b":")
_CROSSES: Final = re.compile(rb'(?:^|["\]}0-9el]),')
_CROSSES_FROM_STRING: Final = re.compile(rb'"[\]}]*,')
_BEGINS_ONLY: Final = re.compile(rb'[^,]*, ?[\[{]*(?:"[^"\\,]*)?', re.DOTALL)

_MAX_PLACES: Final = 1024


@dataclass(frozen=True, slots=True, eq=False)
class CrossingTokens:
    """Tokens that may end a text of a frame and begin the next: few, and all have a comma.

    Args:
        outside: int32; those that may begin outside of strings.
        in_string: int32; those that may begin in a string.
        nowhere: int32; those that may open a frame and do so in it.
        begins_only: those that cannot end a text which they begin.
    """

    outside: NDArray[np.int32]
    in_string: NDArray[np.int32]
    nowhere: NDArray[np.int32]
    begins_only: frozenset[int]


def crossing_tokens(vocabulary: Vocabulary) -> CrossingTokens:
    """The crossing tokens of a vocabulary; use it through `Vocabulary.derive`."""
    found = [(t, data) for t, data in vocabulary.token_bytes.items() if _CROSSES.search(data)]
    return CrossingTokens(
        outside=_ids(t for t, _ in found),
        in_string=_ids(t for t, data in found if _CROSSES_FROM_STRING.search(data)),
        nowhere=_ids(t for t, data in found if _crosses_inside(data)),
        begins_only=frozenset(t for t, data in found if _BEGINS_ONLY.fullmatch(data)),
    )


def _crosses_inside(data: bytes) -> bool:
    """Whether a token can open a frame, write a text in it and go on to the next."""
    return any(_opens_and_crosses(data, state) for state in (OUTSIDE, scan_all(b'"', OUTSIDE)))


def _opens_and_crosses(data: bytes, scanned: int) -> bool:
    """The same for a token that begins outside of strings, or in one."""
    depth, before = 0, b""
    for position, byte in enumerate(data):
        if scanned == OUTSIDE:
            follows_value = before not in _BEFORE_VALUES
            if byte == _COMMA and depth > 0:
                return follows_value
            if byte not in _OUTSIDE_BYTES or (byte == _COMMA and not follows_value):
                return False
            depth = max(0, depth + (byte in b"[{") - (byte in b"]}"))
            before = before if byte == _SPACE else data[position : position + 1]
        _, scanned = scan(byte, scanned)
    return False


def _ids(token_ids: Iterable[int]) -> NDArray[np.int32]:
    return np.array(list(token_ids), np.int32)


class DistinctTokens:
    """Reads tokens where texts must differ.

    Args:
        walk: reads symbols.
        tokens: of the vocabulary.
        vocabulary: the tokens.
    """

    def __init__(self, walk: DistinctWalk, tokens: TokenSymbols, vocabulary: Vocabulary) -> None:
        self._walk = walk
        self._tokens = tokens
        self._crossing = vocabulary.derive(crossing_tokens)
        self._children = vocabulary.derive(_trie_children)
        self._sure = SureTokens()
        self._leads_on: dict[PlainConfiguration, dict[int, bool]] = {}

    def read(self, point: DistinctPoint, token_id: int) -> DistinctPoint | None:
        """The point after a token; None where it is refused, or nothing new could follow."""
        begin, end = self._tokens.begin[token_id], self._tokens.end[token_id]
        after = self._walk.read(point, self._tokens.symbols[begin:end].tolist())
        return after.sealed() if after is not None and self._walk.is_alive(after) else None

    def refused(self, point: DistinctPoint, words: Bitmask) -> list[int]:
        """The tokens of a row that `read` refuses.

        Only two kinds of tokens can be among them: those that stay among earlier texts or end as
        one, and those that begin a new text.

        Args:
            point: where; in a frame at least.
            words: the tokens that the automaton allows there.
        """
        found = [t for tokens in self._repeating(point) for t in allowed_among(tokens, words)]
        is_outside = point.scanned == OUTSIDE
        crossing = self._crossing.outside if is_outside else self._crossing.in_string
        return [*found, *self._refused_crossing(point, allowed_among(crossing, words))]

    def opening(self, words: Bitmask) -> list[int]:
        """The tokens of a row that may open a frame and repeat something inside of it."""
        crossing = self._crossing.nowhere
        return allowed_among(crossing, words) if len(crossing) else []

    def refused_by_scan(self, point: DistinctPoint, words: Bitmask) -> list[int]:
        """The same, token by token: the plain reference."""
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        allowed = np.flatnonzero(bits[: len(self._tokens.begin)]).tolist()
        return [
            token_id
            for token_id in allowed
            if self._tokens.begin[token_id] != self._tokens.end[token_id]
            and self.read(point, token_id) is None
        ]

    def _refused_crossing(self, point: DistinctPoint, token_ids: list[int]) -> Iterator[int]:
        """Those of some crossing tokens that `read` refuses."""
        may_stay = frozenset[int]() if point.is_free else point.staying_bytes
        for token_id in token_ids:
            begin, end = self._tokens.begin[token_id], self._tokens.end[token_id]
            is_new = self._tokens.symbols[begin] not in may_stay  # the text that the token ends
            is_sure = self._sure.has(point, token_id) or self._goes_on(point.plain, token_id)
            if not (is_new and is_sure):
                after = self._walk.read(point, self._tokens.symbols[begin:end].tolist())
                if after is None or not (is_sure or self._is_alive(point, token_id, after)):
                    yield token_id

    def _goes_on(self, place: PlainConfiguration, token_id: int) -> bool:
        """Whether what a crossing token begins can be any of infinitely many texts."""
        if token_id not in self._crossing.begins_only:
            return False
        known = self._leads_on.get(place)
        if known is None:
            if len(self._leads_on) >= _MAX_PLACES:
                self._leads_on.clear()
            known = self._leads_on[place] = {}
        if token_id not in known:
            begin, end = self._tokens.begin[token_id], self._tokens.end[token_id]
            symbols = self._tokens.symbols[begin:end].tolist()
            after = self._walk.read_plainly(place, symbols)
            known[token_id] = after is not None and self._walk.leads_on(after)
        return known[token_id]

    def _is_alive(self, point: DistinctPoint, token_id: int, after: DistinctPoint) -> bool:
        """Whether the text can be completed after a crossing token."""
        if not _ends_at_most_one_text(point, after):
            return self._walk.is_alive(after)
        num_ways = self._walk.count_ways(after, MAX_WAYS)
        self._sure.add(point, token_id, num_ways)
        return num_ways > 0

    def _repeating(self, point: DistinctPoint) -> Iterator[NDArray[np.int32]]:
        """Tokens refused on the way through the earlier texts."""
        trie = self._tokens.trie
        pending = [] if point.is_free else [(0, point)]
        while pending:
            node, before = pending.pop()
            children = self._children.of(node)
            for symbol in before.staying_bytes:
                child = children.get(symbol)
                if child is None:
                    continue
                after = self._walk.read_symbol(before, symbol)
                if after is None:
                    yield trie.tokens_between(child, trie.subtree_end(child))
                elif not after.is_free:
                    ending = trie.tokens_between(child, child + 1)
                    if len(ending) and not self._walk.is_alive(after):
                        yield ending
                    pending.append((child, after))


def _trie_children(vocabulary: Vocabulary) -> TrieChildren:
    return TrieChildren(vocabulary.derive(build_token_symbols).trie)


def _ends_at_most_one_text(before: DistinctPoint, after: DistinctPoint) -> bool:
    """Whether between two points no text ends but perhaps one of the innermost frame."""
    if not before.frames or len(before.frames) != len(after.frames):
        return False
    *outer, frame = ((a.seen, b.seen) for a, b in zip(before.frames, after.frames, strict=True))
    earlier, later = frame
    is_at_most_one = later is earlier or (later is not None and later.before is earlier)
    return is_at_most_one and all(a is b for a, b in outer)


def allowed_among(token_ids: NDArray[np.int32], words: Bitmask) -> list[int]:
    """Those of the tokens that are in a row."""
    found: list[int] = token_ids[(words[token_ids >> 5] >> (token_ids & 31)) & 1 != 0].tolist()
    return found
