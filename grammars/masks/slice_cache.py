"""SliceCache: finds the slice of a lexer state by what can be read from there, in any automaton.

Lexers are many, but what they read of strings is little: from inside an open string, or an open
key, all lexers read the same. So a slice belongs to a *residual*: the automaton of what a state can
still read, with its labels numbered anew. And a state that reads all but a few symbols as another
one does (a key that may still become a declared one) takes the slice of that other one, but for the
tokens that do not lead from both to the same state.
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
    from numpy.typing import NDArray

    from grammars.masks.slices import Slice
    from grammars.vocabulary import Vocabulary

MIN_LIVE_BYTES: Final = 24
"""A lexer state that fewer bytes can follow is walked as fast as a slice could be looked up."""

MIN_USES: Final = 2
"""A slice costs as much as a walk or two: it is made for a residual that is met so often."""

MANY_LIVE_BYTES: Final = 100
"""A state that so many bytes can follow is in an open string, and a text will come to it again: its
slice is made at once."""

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
        source: the state whose slice it is: by `find` in its automaton, by `MaskMaker` in the
            tables. Where it is another one, the slice holds for tokens that lead from both to the
            same state.
    """

    slice: Slice
    labels: tuple[int, ...]
    source: int


@dataclass(frozen=True, slots=True)
class _Residual:
    """What can be read from a state, which is state 1 here.

    Args:
        key: is the same for equal automata.
        states: the states of the automaton that it belongs to, in its own order.
        labels: the own label of each new one.
    """

    key: bytes
    states: tuple[int, ...]
    labels: tuple[int, ...]

    def cut_out(self, dfa: Dfa) -> Dfa:
        """The automaton, cut out of the one that it belongs to."""
        table, label, char_boundary = _renumbered(dfa, self.states, self.labels)
        symbols = np.arange(table.shape[1], dtype=np.int32)
        return build_dfa(table, symbols, label, 1, char_boundary)


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
            made = None if source is None else self._get(source, dfa)
            if source is None or made is None:
                return None
            return SliceView(made, source.residual.labels, source.state)

    def _sources_of(self, dfa: Dfa) -> _Sources:
        sources = self._sources.get(dfa)
        if sources is None:
            sources = self._sources[dfa] = _Sources(dfa)
        return sources

    def _get(self, source: _Source, dfa: Dfa) -> Slice | None:
        residual = source.residual
        found = self._slices.get(residual.key)
        if found is not None:
            return found
        if len(self._num_uses) > _MAX_COUNTED:
            self._num_uses.clear()
        uses = self._num_uses[residual.key] = self._num_uses.get(residual.key, 0) + 1
        if uses != source.min_uses:  # beyond it, it was found to be of no use, or forgotten
            return None
        del self._num_uses[residual.key]
        cut = residual.cut_out(dfa)
        made = build_slice(self._tokens, cut, cut.start, self._num_words)
        if made is None:
            self._num_uses[residual.key] = source.min_uses
            return None
        self._slices.put(residual.key, made, made.memory_bytes)
        return made


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the slice of a state comes from, see `SliceView`; and when it is made."""

    state: int
    residual: _Residual
    min_uses: int


class _Sources:
    """The sources of the states of one automaton, which does not hold it: it is weakly known."""

    def __init__(self, dfa: Dfa) -> None:
        self._dfa = weakref.ref(dfa)
        self._residuals: dict[int, _Residual | None] = {}
        self._sources: dict[int, _Source | None] = {}

    def is_wide(self, state: int) -> bool:
        """Whether at least MIN_LIVE_BYTES can follow a state."""
        return self._num_live(state) >= MIN_LIVE_BYTES

    def _num_live(self, state: int) -> int:
        """How many bytes can follow a state."""
        dfa = self._dfa()
        assert dfa is not None, "the caller holds it"
        return int(np.count_nonzero(dfa.next_state[state][dfa.symbol_class[:NUM_BYTES]]))

    def find(self, state: int) -> _Source | None:
        """The source of a wide state; None where what can be read is large."""
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
        if usual != state and not _is_like(dfa, state, usual):
            usual = state
        if usual not in self._residuals:
            self._residuals[usual] = _find_residual(dfa, usual)
        residual = self._residuals[usual]
        if residual is None:
            return None
        is_open = self._num_live(usual) >= MANY_LIVE_BYTES
        return _Source(usual, residual, 1 if is_open else MIN_USES)


def _is_like(dfa: Dfa, state: int, usual: int) -> bool:
    """Whether two states read all but a few symbols alike."""
    if dfa.char_boundary[state] != dfa.char_boundary[usual]:
        return False
    mine = dfa.next_state[state][dfa.symbol_class]
    others = dfa.next_state[usual][dfa.symbol_class]
    return bool(np.count_nonzero(mine != others) <= MAX_DIFFERING_SYMBOLS)


def _find_residual(dfa: Dfa, start: int) -> _Residual | None:
    """The automaton of what can be read from a state; None where it is large.

    States are numbered by a breadth-first search in order of symbols, labels in order of states.
    """
    number = {DEAD: 0, start: 1}
    for state in (order := [start]):
        for target in dict.fromkeys(dfa.next_state[state][dfa.symbol_class].tolist()):
            if target not in number:
                if len(order) == MAX_RESIDUAL_STATES:
                    return None
                number[target] = len(number)
                order.append(target)
    own_labels = dfa.label[order].tolist()
    labels = tuple(dict.fromkeys(label for label in own_labels if label != NO_LABEL))
    digest = hashlib.sha256()
    states = (DEAD, *order)
    for array in _renumbered(dfa, states, labels):
        digest.update(array.tobytes())
        digest.update(b"%d;" % array.size)
    return _Residual(digest.digest(), states, labels)


def _renumbered(
    dfa: Dfa, states: tuple[int, ...], labels: tuple[int, ...]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Some states by new numbers: the state after each symbol, the label, the boundaries."""
    kept = np.array(states)
    renumber = np.zeros(dfa.num_states, np.int32)
    renumber[kept] = np.arange(len(states))
    number = {own: new for new, own in enumerate(labels, 1)} | {NO_LABEL: NO_LABEL}
    label = np.array([number[own] for own in dfa.label[kept].tolist()], np.int32)
    table = np.ascontiguousarray(renumber[dfa.next_state[kept]][:, dfa.symbol_class])
    return table, label, dfa.char_boundary[kept]
