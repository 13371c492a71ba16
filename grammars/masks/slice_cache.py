"""SliceCache: finds the slice of a lexer state by what can be read from there, in any automaton.

Lexers are many, but what they read of strings is little: from inside an open string, or an open
key, all lexers read the same. So a slice belongs to a *residual*: the automaton of what a state can
still read, with its labels numbered anew. And a state that reads all but a few symbols as another
one does (a key that may still become a declared one) takes the slice of that other one, but for the
tokens that begin with these symbols.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES, Dfa
from grammars.byte_lru import ByteLru
from grammars.masks.slices import build_slice
from grammars.masks.token_symbols import build_token_symbols

if TYPE_CHECKING:
    from grammars.masks.slices import Slice
    from grammars.vocabulary import Vocabulary

MIN_LIVE_BYTES: Final = 24
"""A lexer state that fewer bytes can follow is walked as fast as a slice could be looked up."""

MIN_USES: Final = 3
"""A slice costs as much as a few walks: it is made for a residual that is met so often."""

MAX_RESIDUAL_STATES: Final = 64

MAX_DIFFERING_SYMBOLS: Final = 32

MAX_SLICE_BYTES: Final = 64 * 2**20
"""What all slices of a vocabulary may take; the least recently used go first."""

_MAX_COUNTED: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class SliceView:
    """A slice as one lexer state sees it.

    Args:
        slice: what most tokens do.
        labels: the lexer's own label for each label of the slice, which are numbered from 1.
        differing: the first symbols of the tokens for which the slice does not hold.
        source: the state (its number in the automaton) whose slice it is.
    """

    slice: Slice
    labels: tuple[int, ...]
    differing: tuple[int, ...]
    source: int


@dataclass(frozen=True, slots=True)
class _Residual:
    """What can be read from a state: the key is the same for equal automata."""

    key: bytes
    dfa: Dfa
    labels: tuple[int, ...]


class SliceCache:
    """The slices of a vocabulary (see `Vocabulary.derive`); thread-safe."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._tokens = vocabulary.derive(build_token_symbols)
        self._num_words = vocabulary.num_words
        self._slices: ByteLru[bytes, Slice] = ByteLru(MAX_SLICE_BYTES)
        self._num_uses: dict[bytes, int] = {}
        self._sources: WeakKeyDictionary[Dfa, _Sources] = WeakKeyDictionary()
        self._lock = threading.RLock()

    @property
    def memory_bytes(self) -> int:
        """Bytes of all slices."""
        return self._slices.num_bytes

    def is_wide(self, dfa: Dfa, state: int) -> bool:
        """Whether many bytes can follow a state of `dfa`; others have no slice."""
        with self._lock:
            return self._sources_of(dfa).is_wide(state)

    def find(self, dfa: Dfa, state: int) -> SliceView | None:
        """The slice for a state of `dfa`; None where a walk is the better way."""
        with self._lock:
            source = self._sources_of(dfa).find(state)
            made = None if source is None else self._get(source)
            if source is None or made is None:
                return None
            return SliceView(made, source.residual.labels, source.differing, source.state)

    def _sources_of(self, dfa: Dfa) -> _Sources:
        sources = self._sources.get(dfa)
        if sources is None:
            sources = self._sources[dfa] = _Sources(dfa)
        return sources

    def _get(self, source: _Source) -> Slice | None:
        residual = source.residual
        found = self._slices.get(residual.key)
        if found is not None:
            return found
        if len(self._num_uses) > _MAX_COUNTED:
            self._num_uses.clear()
        uses = self._num_uses[residual.key] = self._num_uses.get(residual.key, 0) + 1
        if uses != MIN_USES:  # beyond it, it was made and found to be of no use, or forgotten
            return None
        del self._num_uses[residual.key]
        made = build_slice(self._tokens, residual.dfa, residual.dfa.start, self._num_words)
        if made is None:
            self._num_uses[residual.key] = MIN_USES
            return None
        self._slices.put(residual.key, made, made.memory_bytes)
        return made


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the slice of a state comes from, see `SliceView`."""

    state: int
    residual: _Residual
    differing: tuple[int, ...]


class _Sources:
    """The sources of the states of one automaton, which does not hold it: it is weakly known."""

    def __init__(self, dfa: Dfa) -> None:
        self._dfa = weakref.ref(dfa)
        width = np.bincount(dfa.symbol_class[:NUM_BYTES], minlength=dfa.next_state.shape[1])
        self._is_wide = (dfa.next_state != DEAD) @ width >= MIN_LIVE_BYTES
        self._residuals: dict[int, _Residual | None] = {}
        self._sources: dict[int, _Source | None] = {}

    def is_wide(self, state: int) -> bool:
        """Whether at least MIN_LIVE_BYTES can follow a state."""
        return bool(self._is_wide[state])

    def find(self, state: int) -> _Source | None:
        """The source of a state; None where it is narrow, or what can be read is large."""
        if not self._is_wide[state]:
            return None
        if state not in self._sources:
            dfa = self._dfa()
            assert dfa is not None, "the caller holds it"
            self._sources[state] = self._make(dfa, state)
        return self._sources[state]

    def _make(self, dfa: Dfa, state: int) -> _Source | None:
        """The state's own residual, or that of the state which most of its symbols lead to."""
        counts = np.bincount(dfa.next_state[state][dfa.symbol_class])
        counts[DEAD] = 0
        usual = int(counts.argmax())
        differing = () if usual == state else _differing(dfa, state, usual)
        if differing is None:
            usual, differing = state, ()
        if usual not in self._residuals:
            self._residuals[usual] = _find_residual(dfa, usual)
        residual = self._residuals[usual]
        return None if residual is None else _Source(usual, residual, differing)


def _differing(dfa: Dfa, state: int, usual: int) -> tuple[int, ...] | None:
    """The symbols that two states read differently, None where they are many."""
    if dfa.char_boundary[state] != dfa.char_boundary[usual]:
        return None
    mine = dfa.next_state[state][dfa.symbol_class]
    others = dfa.next_state[usual][dfa.symbol_class]
    differs = mine != others
    if dfa.label[state] != dfa.label[usual]:  # a symbol that is not read fires the label
        differs |= mine == DEAD
    symbols = np.flatnonzero(differs)
    return None if len(symbols) > MAX_DIFFERING_SYMBOLS else tuple(symbols.tolist())


def _find_residual(dfa: Dfa, start: int) -> _Residual | None:
    """The automaton of what can be read from a state; None where it is large.

    States are numbered by a breadth-first search in order of symbols, labels in order of states.
    """
    classes, first_symbol = np.unique(dfa.symbol_class, return_index=True)
    in_order = classes[np.argsort(first_symbol)].tolist()
    number = {DEAD: 0, start: 1}
    for state in (order := [start]):
        row = dfa.next_state[state].tolist()
        for column in in_order:
            if row[column] not in number:
                if len(order) == MAX_RESIDUAL_STATES:
                    return None
                number[row[column]] = len(number)
                order.append(row[column])
    states = np.array([DEAD, *order])
    renumber = np.zeros(dfa.num_states, np.int32)
    renumber[states] = np.arange(len(states))
    own_labels = dfa.label[states].tolist()
    labels = tuple(dict.fromkeys(label for label in own_labels if label != NO_LABEL))
    label = np.array([labels.index(x) + 1 if x != NO_LABEL else x for x in own_labels], np.int32)
    residual = build_dfa(
        renumber[dfa.next_state[states]],
        dfa.symbol_class.astype(np.int32),
        label,
        1,
        dfa.char_boundary[states],
    )
    digest = hashlib.sha256()
    for array in (residual.symbol_class, residual.next_state, label, residual.char_boundary):
        digest.update(array.tobytes())
        digest.update(b"%d;" % array.size)
    return _Residual(digest.digest(), residual, labels)
