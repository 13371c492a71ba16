"""DistinctTokens: the tokens that the automaton allows and that would repeat what must differ."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.masks.crossing_tokens import crossing_tokens
from grammars.masks.json_scan import OUTSIDE
from grammars.masks.trie_children import TrieChildren

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from grammars.masks.distinct_point import DistinctPoint
    from grammars.masks.distinct_walk import DistinctWalk
    from grammars.masks.earlier_words import EarlierWords
    from grammars.masks.reference import PlainConfiguration
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.protocol import Bitmask
    from grammars.vocabulary import Vocabulary

_COMMA: Final = ord(",")
_MAX_PLACES: Final = 1024


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
        self._children = vocabulary.derive(TrieChildren)
        self._words_after: dict[PlainConfiguration, dict[int, int]] = {}

    def read(self, point: DistinctPoint, token_id: int) -> DistinctPoint | None:
        """The point after a token; None where it is refused, or nothing new could follow."""
        after = self._walk.read(point, self._symbols(token_id))
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
        taken = sum(frame.num_words_soon for frame in point.frames)
        for token_id in token_ids:
            symbols = self._symbols(token_id)
            is_new = symbols[0] not in may_stay  # the text that the token ends
            # The token itself may write a few words; and before each there is a gap or none.
            is_sure = self._num_words_after(point.plain, token_id) > 2 * (taken + len(symbols))
            if is_sure and is_new:
                continue
            if is_sure:  # what the token begins, it does not end
                symbols = symbols[: symbols.index(_COMMA) + 1]
            after = self._walk.read(point, symbols)
            if after is None or not (is_sure or self._walk.is_alive(after)):
                yield token_id

    def _symbols(self, token_id: int) -> list[int]:
        found: list[int] = self._tokens.symbols[
            self._tokens.begin[token_id] : self._tokens.end[token_id]
        ].tolist()
        return found

    def _num_words_after(self, place: PlainConfiguration, token_id: int) -> int:
        """How many words may follow a crossing token that only begins a text; 0 of others."""
        if token_id not in self._crossing.begins_only:
            return 0
        known = self._words_after.get(place)
        if known is None:
            if len(self._words_after) >= _MAX_PLACES:
                self._words_after.clear()
            known = self._words_after[place] = {}
        if token_id not in known:
            after = self._walk.read_plainly(place, self._symbols(token_id))
            known[token_id] = 0 if after is None else self._walk.num_words(after)
        return known[token_id]

    def _repeating(self, point: DistinctPoint) -> Iterator[NDArray[np.int32]]:
        """Tokens refused on the way through the earlier texts."""
        pending = [] if point.is_free else [(0, point)]
        while pending:
            node, before = pending.pop()
            words = self._walk.words_at(before)
            if words is not None:
                yield from self._repeating_words(node, words, pending)
                continue
            children = self._children.of(node)
            for symbol in before.staying_bytes:
                child = children.get(symbol)
                if child is None:
                    continue
                after = self._walk.read_symbol(before, symbol)
                if after is None or (self._ends_token(child) and not self._walk.is_alive(after)):
                    yield self._tokens_from(child)
                elif not after.is_free:
                    pending.append((child, after))

    def _repeating_words(
        self, node: int, words: EarlierWords, pending: list[tuple[int, DistinctPoint]]
    ) -> Iterator[NDArray[np.int32]]:
        """The same inside of a string, for all earlier texts together.

        A beginning of words is dead if all words that begin with it are.

        Args:
            node: of the token trie.
            words: of the earlier texts.
            pending: given the points behind a word that are still among earlier texts.
        """
        is_dead = DeadWords(words, self._walk)
        beginnings = [(node, sorted(words), 0, words.point.plain)]
        while beginnings:
            node, group, length, place = beginnings.pop()
            children = self._children.of(node)
            for symbol, same in groupby(group, itemgetter(length)):
                child = children.get(symbol)
                if child is None:
                    continue
                longer = list(same)
                if length + 1 == len(longer[0]):  # no word begins another
                    after = is_dead.after(longer[0])
                    if after is None:
                        yield self._tokens_from(child)
                    elif not after.is_free:
                        pending.append((child, after))
                    continue
                following = self._walk.shift_plainly(place, symbol)
                num_words = self._walk.num_words(following)
                if num_words > len(longer) or num_words > sum(map(is_dead, longer)):
                    beginnings.append((child, longer, length + 1, following))
                else:
                    yield self._tokens_from(child)

    def _ends_token(self, node: int) -> bool:
        """Whether a token ends at a node of the trie."""
        return len(self._tokens.trie.tokens_between(node, node + 1)) > 0

    def _tokens_from(self, node: int) -> NDArray[np.int32]:
        """The tokens that end at a node of the trie or behind it."""
        trie = self._tokens.trie
        return trie.tokens_between(node, trie.subtree_end(node))


class DeadWords:
    """Which words lead on to nothing new, each found out once.

    Args:
        words: at some point.
        walk: reads them.
    """

    def __init__(self, words: EarlierWords, walk: DistinctWalk) -> None:
        self._words = words
        self._walk = walk
        self._after: dict[bytes, DistinctPoint | None] = {}

    def __call__(self, word: bytes) -> bool:
        """Whether a word is dead."""
        return self.after(word) is None

    def after(self, word: bytes) -> DistinctPoint | None:
        """The point after a word, None where it is dead."""
        if word not in self._after:
            after = self._walk.read_word(self._words, word)
            is_alive = after is not None and self._walk.is_alive(after)
            self._after[word] = after if is_alive else None
        return self._after[word]


def allowed_among(token_ids: NDArray[np.int32], words: Bitmask) -> list[int]:
    """Those of the tokens that are in a row."""
    found: list[int] = token_ids[(words[token_ids >> 5] >> (token_ids & 31)) & 1 != 0].tolist()
    return found
