"""SliceCache: the slices of a vocabulary, each found by what a lexer state of any automaton reads.

Lexers are many, but what they read of strings is little: from inside an open string, or an open
key, all lexers read the same. So a slice belongs to a *residual*: the automaton of what a state can
still read, with its labels numbered anew. And a state that reads all but a few symbols as another
one does (a key that may still become a declared one) takes the slice of that other one, but for the
tokens that do not lead from both to the same state.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

from grammars.byte_lru import ByteLru
from grammars.masks.slice_sources import SliceSources
from grammars.masks.slices import build_slice
from grammars.masks.token_symbols import build_token_symbols

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa
    from grammars.masks.slice_sources import Residual
    from grammars.masks.slices import Slice
    from grammars.vocabulary import Vocabulary

MAX_SLICE_BYTES: Final = 64 * 2**20
"""What all slices of a vocabulary may take; the least recently used go first."""

_MAX_USELESS: Final = 1 << 16


class SliceView(NamedTuple):
    """A slice as one lexer state sees it.

    Attributes:
        slice: what most tokens do.
        labels: the lexer's own label for each label of the slice, which are numbered from 1.
        source: the state, in the tables, whose slice it is. Where it is another one, the slice
            holds for tokens that lead from both to the same state.
    """

    slice: Slice
    labels: tuple[int, ...]
    source: int


class SliceCache:
    """The slices of a vocabulary (see `Vocabulary.derive`); thread-safe."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokens = vocabulary.derive(build_token_symbols)
        self._num_words = vocabulary.num_words
        self._slices: ByteLru[bytes, Slice] = ByteLru(MAX_SLICE_BYTES)
        self._useless: set[bytes] = set()  # keys of residuals that too many tokens leave
        self._sources: WeakKeyDictionary[Dfa, SliceSources] = WeakKeyDictionary()
        self._lock = threading.RLock()

    @property
    def memory_bytes(self) -> int:
        """Bytes of all slices."""
        return self._slices.num_bytes

    def find_source(self, dfa: Dfa, state: int) -> int:
        """The state of `dfa` whose slice a state takes."""
        with self._lock:
            return self._sources_of(dfa).find(state)

    def find(self, dfa: Dfa, source: int) -> tuple[Slice, tuple[int, ...]] | None:
        """The slice of a state of `dfa`, and `SliceView.labels`; None where a walk is better."""
        with self._lock:
            residual = self._sources_of(dfa).residual(source)
            found = self._slices.get(residual.key)
            if found is None and residual.key not in self._useless:
                found = self._make(residual, dfa)
            return None if found is None else (found, residual.labels)

    def _sources_of(self, dfa: Dfa) -> SliceSources:
        sources = self._sources.get(dfa)
        if sources is None:
            sources = self._sources[dfa] = SliceSources(dfa)
        return sources

    def _make(self, residual: Residual, dfa: Dfa) -> Slice | None:
        made = build_slice(self._tokens, *residual.cut_out(dfa), self._num_words)
        if made is not None:
            self._slices.put(residual.key, made, made.memory_bytes)
            return made
        if len(self._useless) == _MAX_USELESS:
            self._useless.clear()
        self._useless.add(residual.key)
        return None
