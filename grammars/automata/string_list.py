"""strings: the automaton of a list of strings; StringList: that of a long one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.codepoint_dfa import DEFAULT_MAX_STATES, CodePointDfa, no_string
from grammars.automata.dfa import DEAD
from grammars.automata.trie import ROOT, trie_of
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from grammars.automata.edges import Edges
    from grammars.automata.trie import Trie

MAX_LIST_CELLS: Final = 1 << 24
"""Entries of the table of a list, where an operation needs one: 64 MB. Also the characters that may
begin a string or follow a beginning, times those that occur."""

_MAX_MINIMAL_CELLS: Final = 1 << 22
"""Entries of the table of a list that is made minimal."""

_NODES_PER_STATE: Final = 4
"""So many nodes of a trie for each state that a minimal automaton may have are not made minimal."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def strings(texts: Iterable[str], *, max_states: int = DEFAULT_MAX_STATES) -> CodePointDfa:
    """Exactly these strings. Those with lone surrogates are not texts and are left out.

    Time and memory are linear in the number of characters.

    Args:
        texts: in any order.
        max_states: characters of a string at most; and states of the minimal automaton, if it is to
            be made: of larger lists the trie is kept (`StringList`), which is read in pieces.

    Raises:
        LimitExceededError: a string is too long, or so many characters may stand at one place that
            not even a piece can be made.
    """
    listed = list(texts)
    try:
        characters = "".join(listed).encode("utf-32-le")
    except UnicodeEncodeError:
        listed = [text for text in listed if not _SURROGATE.search(text)]
        characters = "".join(listed).encode("utf-32-le")
    if not listed:
        return no_string()
    length = np.fromiter(map(len, listed), np.int32, len(listed))
    return _strings_of(np.frombuffer(bytearray(characters), np.int32), length, max_states)


def _strings_of(
    characters: NDArray[np.int32], length: NDArray[np.int32], max_states: int
) -> CodePointDfa:
    """As `strings`, of one string at least; the arguments are those of `trie_of`."""
    if length.max() >= max_states:  # each character of the longest string has a state of its own
        raise LimitExceededError("max_states", max_states, f"a string of {length.max()} characters")
    trie = trie_of(characters, length)
    if trie.num_nodes <= _NODES_PER_STATE * max_states:
        state, num_states = trie.minimal_states()
        if num_states <= max_states and num_states * trie.num_symbols <= _MAX_MINIMAL_CELLS:
            accepting = np.zeros(num_states, np.bool_)
            accepting[state] = trie.is_final
            table = trie.edges.table(state, num_states, trie.num_symbols)
            return CodePointDfa(*_ranges_of(trie.alphabet), table, accepting, int(state[ROOT]))
    if int(np.diff(trie.edges.first).max()) * trie.num_symbols > MAX_LIST_CELLS:
        raise _too_large(len(length))
    return StringList(trie, characters, length)


class StringList(CodePointDfa):
    """The automaton of a long list of strings: their trie, which is not minimal.

    Args:
        trie: of the strings.
        characters: of the strings, see `trie_of`.
        length: likewise.
    """

    __slots__ = ("_characters", "_length", "_table", "_trie")

    _trie: Trie
    _characters: NDArray[np.int32]
    _length: NDArray[np.int32]
    _table: NDArray[np.int32] | None

    def __init__(
        self, trie: Trie, characters: NDArray[np.int32], length: NDArray[np.int32]
    ) -> None:
        range_start, range_class = _ranges_of(trie.alphabet)
        for name, value in (
            ("range_start", range_start),
            ("range_class", range_class),
            ("accepting", trie.is_final),
            ("start", ROOT),
            ("_trie", trie),
            ("_characters", characters),
            ("_length", length),
            ("_table", None),
        ):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_strings={len(self._length)})"

    @property
    def next_state(self) -> NDArray[np.int32]:
        """The table, as in `CodePointDfa`; made when it is needed: no list is read with it.

        Raises:
            LimitExceededError: it needs more than MAX_LIST_CELLS entries.
        """
        table = self._table
        if table is None:
            if self.num_states * self._trie.num_symbols > MAX_LIST_CELLS:
                raise _too_large(len(self._length))
            itself = np.arange(self.num_states, dtype=np.int32)
            table = self._trie.edges.table(itself, self.num_states, self._trie.num_symbols)
            object.__setattr__(self, "_table", table)
        return table

    @property
    def num_states(self) -> int:
        """How many states there are, DEAD included."""
        return self._trie.num_nodes

    @property
    def num_bytes(self) -> int:
        """The memory that it takes, its table aside."""
        return self._characters.nbytes + self._length.nbytes + self._trie.edges.num_bytes

    def edge_lists(self) -> Edges:
        """All live steps, by state and class."""
        return self._trie.edges

    def texts(self) -> Iterator[str]:
        """The strings, the shortest first."""
        end = np.cumsum(self._length)
        for number in np.argsort(self._length, kind="stable").tolist():
            text = self._characters[end[number] - self._length[number] : end[number]]
            yield text.tobytes().decode("utf-32-le")

    def with_length(
        self, minimum: int = 0, maximum: int | None = None, *, max_states: int = DEFAULT_MAX_STATES
    ) -> CodePointDfa:
        """The strings of minimum .. maximum characters (None: no upper bound)."""
        is_kept = self._length >= minimum
        if maximum is not None:
            is_kept &= self._length <= maximum
        return self._only(is_kept, max_states)

    def intersect(
        self, other: CodePointDfa, *, max_states: int = DEFAULT_MAX_STATES
    ) -> CodePointDfa:
        """The strings that are in another language; they are looked up one by one."""
        return self._only(self._accepted_by(other), max_states)

    def difference(
        self, other: CodePointDfa, *, max_states: int = DEFAULT_MAX_STATES
    ) -> CodePointDfa:
        """The strings that are not in another language."""
        return self._only(~self._accepted_by(other), max_states)

    def _only(self, is_kept: NDArray[np.bool_], max_states: int) -> CodePointDfa:
        """Some of the strings: bool, (num_strings,)."""
        if is_kept.all():
            return self
        if not is_kept.any():
            return no_string()
        characters = self._characters[np.repeat(is_kept, self._length)]
        return _strings_of(characters, self._length[is_kept], max_states)

    def _accepted_by(self, other: CodePointDfa) -> NDArray[np.bool_]:
        """bool, (num_strings,): which of the strings another automaton accepts."""
        first = np.cumsum(self._length) - self._length
        state = np.full(len(first), other.start, np.int32)
        going_on, num_read = np.flatnonzero(self._length), 0
        while len(going_on):
            read = self._characters[first[going_on] + num_read]
            ranges = np.searchsorted(other.range_start, read, side="right") - 1
            state[going_on] = other.next_state[state[going_on], other.range_class[ranges]]
            num_read += 1
            going_on = going_on[(self._length[going_on] > num_read) & (state[going_on] != DEAD)]
        return other.accepting[state]


def _too_large(num_strings: int) -> LimitExceededError:
    what = f"a list of {num_strings} strings"
    return LimitExceededError("max_list_cells", MAX_LIST_CELLS, what)


def _ranges_of(alphabet: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """One class for each character of `alphabet` (ascending), class 0 for everything else."""
    num_characters = len(alphabet)
    starts = np.zeros(2 * num_characters + 1, np.int32)
    starts[1::2] = alphabet
    starts[2::2] = alphabet + 1
    classes = np.zeros(len(starts), np.int32)
    classes[1::2] = np.arange(1, num_characters + 1)
    keep = np.ones(len(starts), np.bool_)
    keep[:-1:2] = starts[:-1:2] != starts[1::2]  # nothing before the first, between neighbours
    return starts[keep], classes[keep]
