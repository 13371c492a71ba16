"""lexer_of: one lexer that reads any of several terminals."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, assert_never

import numpy as np

from grammars.automata.dfa import NO_LABEL, Dfa
from grammars.automata.lexer import Lexer, LexerBuilder
from grammars.automata.speakable import without_bytes
from grammars.automata.string_rest import string_piece
from grammars.byte_lru import ByteLru
from grammars.pushdown.free_text import free_text_dfa
from grammars.pushdown.layouts import spell
from grammars.pushdown.spelled_strings import (
    is_spelled_as_any,
    spelled_strings,
    spelled_tail,
)
from grammars.pushdown.terminals import (
    Key,
    Match,
    Numbers,
    OtherKey,
    Scanned,
    StringPiece,
    Strings,
    StringTail,
    TextUntil,
    Word,
)
from grammars.pushdown.value_lexers import value_lexer
from grammars.pushdown.word_lexers import word_lexer
from grammars.schema.key_groups import undeclared_keys
from grammars.schema.plans import AllBut
from grammars.schema.value import StringSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.string_rest import StringRest
    from grammars.cfg.lexers import ScanLexer
    from grammars.pushdown.free_text import Watched
    from grammars.pushdown.terminals import Terminal

_CACHE_BYTES: Final = 64 * 1024 * 1024
_MAX_KEPT: Final = 4 * 1024 * 1024
_cache: Final[ByteLru[tuple[tuple[Terminal, ...], int, frozenset[int], bool], Lexer]] = ByteLru(
    _CACHE_BYTES
)


def lexer_of(
    terminals: tuple[Terminal, ...],
    max_states: int,
    missing_bytes: frozenset[int],
    *,
    has_first: bool = False,
) -> Lexer:
    """The lexer whose item i is the i-th terminal; the same object for equal arguments.

    Sharing matters beyond compile time: masks inside a lexer are cached with its states.

    Args:
        terminals: what to read; every one of them has a text without missing bytes.
        max_states: states of the lexer and of each automaton in it.
        missing_bytes: bytes that the vocabulary cannot spell; no text with one is read.
        has_first: the terminals are members of an object that follow another; the last state of
            the automaton is a second start, from which they are read without the comma.

    Raises:
        LimitExceededError: it needs more than `max_states` states.
    """
    key = (terminals, max_states, missing_bytes, has_first)
    known = _cache.get(key)
    if known is None:
        known = _make_lexer(terminals, max_states, missing_bytes, has_first=has_first)
        num_bytes = known.dfa.next_state.nbytes + 64 * known.dfa.num_states
        _cache.put(key, known, num_bytes + _num_bytes_kept(terminals))
    return known


def _num_bytes_kept(terminals: tuple[Terminal, ...]) -> int:
    """What the automata of strings take that pieces keep alive; more than all where it is much."""
    contents = {x.rest.content for x in terminals if isinstance(x, (StringPiece, StringTail))}
    num_bytes = sum(content.num_bytes for content in contents)
    return num_bytes if num_bytes < _MAX_KEPT else _CACHE_BYTES


def _make_lexer(
    terminals: tuple[Terminal, ...],
    max_states: int,
    missing_bytes: frozenset[int],
    *,
    has_first: bool,
) -> Lexer:
    if not missing_bytes:
        words = word_lexer(terminals, has_first=has_first)
        if words is not None and words.dfa.num_states <= max_states:
            return words
    lexer = word_lexer(terminals) or value_lexer(terminals, max_states)
    if lexer is None or lexer.dfa.num_states > max_states:
        lexer = write_lexer(terminals, max_states)
    dfa = without_bytes(lexer.dfa, missing_bytes)
    return replace(lexer, dfa=_with_first(dfa) if has_first else dfa)


def _with_first(dfa: Dfa) -> Dfa:
    """The automaton of members that follow another, and one more state, where the first begins."""
    quote, comma, bracket = (dfa.symbol_class[ord(symbol)] for symbol in '",}')
    first = np.zeros_like(dfa.next_state[:1])
    first[0, bracket] = dfa.next_state[dfa.start, bracket]
    first[0, quote] = dfa.next_state[dfa.next_state[dfa.start, comma], quote]
    return Dfa(
        dfa.symbol_class,
        np.concatenate((dfa.next_state, first)),
        np.append(dfa.label, np.int32(NO_LABEL)),
        dfa.start,
        np.append(dfa.char_boundary, False),  # a value, no flag
    )


def write_lexer(terminals: tuple[Terminal, ...], max_states: int) -> Lexer:
    """The lexer of any terminals, by subset construction; item i is the i-th terminal.

    Raises:
        LimitExceededError: it needs more than `max_states` states.
    """
    return _piece_lexer(terminals, max_states) or _Writer(max_states).write(terminals)


def _piece_lexer(terminals: tuple[Terminal, ...], max_states: int) -> Lexer | None:
    """The lexer of one string's piece, whose automaton is deterministic; None for others."""
    pieces = [terminal for terminal in terminals if isinstance(terminal, StringPiece)]
    if len(pieces) < len(terminals) or {piece.key for piece in pieces} != {pieces[0].key}:
        return None
    items: _Items = defaultdict(list)
    for item, piece in enumerate(pieces):
        items[piece.label].append(item)
    rest, length, is_open = pieces[0].key
    dfa = string_piece(rest, length, is_open=is_open, max_states=max_states)
    return Lexer(dfa, tuple([frozenset(items[label]) for label in sorted(items)]), False)


_Items: TypeAlias = "defaultdict[int, list[int]]"


def _of_labels() -> defaultdict[Any, _Items]:
    return defaultdict(lambda: defaultdict(list))


class _Writer:
    """Writes the terminals of one lexer; equal beginnings are written once."""

    def __init__(self, max_states: int) -> None:
        self._max_states = max_states
        self._builder = LexerBuilder(max_states)
        self._members: dict[tuple[bool, bytes], int] = {}
        self._embedded: dict[object, int] = {}
        # Automata of several labels -> the items of each label.
        self._texts: defaultdict[tuple[tuple[Watched, ...], int], _Items] = _of_labels()
        # Whether members follow, and the gap -> the item of each object, and its declared keys.
        self._undeclared: defaultdict[tuple[bool, bytes], list[tuple[int, frozenset[str]]]] = (
            defaultdict(list)
        )
        self._scanned: defaultdict[ScanLexer, _Items] = _of_labels()
        self._string_pieces: defaultdict[tuple[StringRest, int, bool], _Items] = _of_labels()

    def write(self, terminals: tuple[Terminal, ...]) -> Lexer:
        for item, terminal in enumerate(terminals):
            match terminal:
                case Word(pieces, gap):
                    state = self._builder.optional(self._pieces(pieces), gap)
                    self._builder.accept(state, item)
                case Key(spelling, follows, gap):
                    self._key(
                        self._builder.literal(self._member(follows, gap), spelling), gap, (item,)
                    )
                case OtherKey(AllBut(names), follows, gap) if names and all(
                    map(is_spelled_as_any, names)
                ):
                    self._undeclared[follows, gap].append((item, names))
                case OtherKey(keys, follows, gap, is_canonical):
                    self._other_key(keys, follows, gap, (item,), is_canonical=is_canonical)
                case Numbers(numbers):
                    self._builder.accept(self._embed(numbers, counted=False), item)
                case Strings(strings, is_counted, is_canonical):
                    dfa = spelled_strings(strings, self._max_states, is_canonical=is_canonical)
                    self._builder.accept(self._embed(dfa, counted=is_counted), item)
                case StringPiece(rest, length, is_open, label):
                    self._string_pieces[rest, length, is_open][label].append(item)
                case StringTail(rest, is_counted):
                    dfa = spelled_tail(rest, self._max_states, is_counted=is_counted)
                    self._builder.accept(self._embed(dfa, counted=is_counted), item)
                case Match(texts):
                    self._builder.accept(self._embed(texts, counted=False), item)
                case TextUntil(watched, end_label, label):
                    self._texts[watched, end_label][label].append(item)
                case Scanned(scan_lexer, label):
                    self._scanned[scan_lexer][label].append(item)
                case _:
                    assert_never(terminal)
        for (follows, gap), others in self._undeclared.items():
            self._all_undeclared(follows, gap, others)
        for scan_lexer, items in self._scanned.items():
            self._builder.embed_labelled(LexerBuilder.start, scan_lexer.dfa, items)
        for (rest, length, is_open), items in self._string_pieces.items():
            dfa = string_piece(rest, length, is_open=is_open, max_states=self._max_states)
            self._builder.embed_labelled(LexerBuilder.start, dfa, items, counted=False)
        for (watched, end_label), items in self._texts.items():
            dfa = free_text_dfa(watched, end_label)
            self._builder.embed_labelled(LexerBuilder.start, dfa, items)
        return self._builder.determinise()

    def _pieces(self, pieces: tuple[bytes | int, ...]) -> int:
        state = LexerBuilder.start
        for piece in pieces:
            if isinstance(piece, bytes):
                state = self._builder.literal(state, piece)
            else:
                state = self._builder.symbol(state, piece)
        return state

    def _member(self, follows: bool, gap: bytes) -> int:
        """The state in which a key begins."""
        known = self._members.get((follows, gap))
        if known is None:
            known = LexerBuilder.start
            if follows:
                known = self._builder.optional(self._builder.literal(known, b","), gap)
            self._members[follows, gap] = known
        return known

    def _all_undeclared(
        self, follows: bool, gap: bytes, others: list[tuple[int, frozenset[str]]]
    ) -> None:
        """Read the undeclared keys of several objects, which differ in a few words only.

        Args:
            follows: see `OtherKey`.
            gap: see `OtherKey`.
            others: the item of each object, and its declared keys.
        """
        every = frozenset(item for item, _ in others)
        declaring: defaultdict[str, set[int]] = defaultdict(set)
        for item, names in others:
            for name in names:
                declaring[name].add(item)
        nowhere = AllBut(frozenset(declaring))
        self._other_key(nowhere, follows, gap, every, is_canonical=True)
        for name in sorted(declaring):
            items = every - declaring[name]
            if items:
                end = self._builder.literal(self._member(follows, gap), spell(name))
                self._key(end, gap, items)

    def _other_key(
        self,
        keys: AllBut | CodePointDfa,
        follows: bool,
        gap: bytes,
        items: Iterable[int],
        *,
        is_canonical: bool,
    ) -> None:
        if isinstance(keys, AllBut):
            keys = undeclared_keys(keys.declared, self._max_states)
        dfa = spelled_strings(StringSet(keys), self._max_states, is_canonical=is_canonical)
        end = self._builder.embed(self._member(follows, gap), dfa, counted=False)
        self._key(end, gap, items)

    def _key(self, key_end: int, gap: bytes, items: Iterable[int]) -> None:
        colon = self._builder.literal(key_end, b":")
        self._builder.accept_all(self._builder.optional(colon, gap), items)

    def _embed(self, dfa: Dfa, *, counted: bool) -> int:
        """The state after a text of `dfa`; terminals with the same texts share one copy."""
        known = self._embedded.get(dfa)
        if known is None:
            known = self._builder.embed(LexerBuilder.start, dfa, counted=counted)
            self._embedded[dfa] = known
        return known
