"""StringRest: what is left of a string of which some characters are read, and its next piece.

A long list of strings or a pattern with counts has more states than a text ever visits. Such a
string is read in pieces: an automaton of its next few characters, which tells by its labels what is
left after them. Only the pieces that a text comes to are ever spelled in bytes.

    "abc | def | gh"     the pieces of a text of three: each of the first two ends with the label
                         of what is left, the third with that of a string that has ended
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.codepoint_dfa import CodePointDfa, with_merged_classes
from grammars.automata.json_spelling import spelling_tree
from grammars.automata.json_string import spell_content
from grammars.automata.kernels import grown, grown_rows, helper, kernel
from grammars.automata.lengths import measure
from grammars.byte_lru import ByteLru

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.automata.kernels import Ints

MAX_PIECE_LENGTH: Final = 256
"""Characters of a piece at most."""

ENDED: Final = 1
"""The label of a string that has ended; what is left in other cases has the labels after it."""

_CACHE_BYTES: Final = 4 * 1024 * 1024
"""What is kept of the pieces of one content, while it is there."""

_ANY_NUMBER: Final = 2**31 - 1
_NO_BOUNDS: Final = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class StringRest:
    """The strings that a state of an automaton still reads.

    Args:
        content: over decoded code points.
        state: where its texts begin; not DEAD.
        fewest: characters at least.
        most: characters at most; None is no bound. Bounds must be such as a counter makes exact
            (`lengths.can_be_counted`).
    """

    content: CodePointDfa
    state: int
    fewest: int = 0
    most: int | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether there are bounds of the length."""
        return self.fewest > 0 or self.most is not None

    @property
    def place(self) -> tuple[int | None, ...]:
        """All of it but the content."""
        return self.state, self.fewest, self.most

    @property
    def texts(self) -> CodePointDfa:
        """The automaton of what is left, bounds aside; it may have states that are not reached."""
        content = self.content
        return CodePointDfa(
            content.range_start,
            content.range_class,
            content.next_state,
            content.accepting,
            self.state,
        )

    def after(self, num_characters: int) -> tuple[StringRest, ...]:
        """What may be left after so many characters, in order of the labels of `string_piece`."""
        fewest = max(0, self.fewest - num_characters)
        most = None if self.most is None else self.most - num_characters
        left = _unfolded(self, num_characters).left.tolist()
        return tuple([StringRest(self.content, state, fewest, most) for state in left])

    def near(self, num_characters: int) -> StringRest:
        """The same within so many characters, and equal for all rests that are."""
        fewest, most = min(self.fewest, num_characters + 1), self.most
        if most is not None and most >= num_characters + int(_known(self.content).shortest.max()):
            most = None
        return StringRest(self.content, self.state, fewest, most)


def piece_length(rest: StringRest, max_states: int) -> int:
    """Characters of a piece that has at most about `max_states` states; at least 1."""
    unfolded = _unfolded(rest, MAX_PIECE_LENGTH, max_states // spelling_weight(rest.content))
    _keep(unfolded, rest, unfolded.length)  # it is asked for next
    return unfolded.length


def string_piece(rest: StringRest, length: int, *, is_open: bool, max_states: int) -> Dfa:
    """The next so many characters of a string, in canonical spelling.

    Label ENDED where the string ends within them; ENDED + 1 + i where they are all read, and what
    is left is number i of `rest.after(length)`. No symbol leads on from there.

    Args:
        rest: the string.
        length: characters, at least 1.
        is_open: whether the opening quote has been read.
        max_states: states of the result at most.

    Raises:
        LimitExceededError: it needs more than `max_states` states.
    """
    pieces = _known(rest.content).pieces
    key = (*rest.place, length, is_open, max_states)
    piece = pieces.get(key)
    if piece is None:
        piece = _make_piece(rest, length, is_open=is_open, max_states=max_states)
        pieces.put(key, piece, piece.next_state.nbytes)
    return piece


def _make_piece(rest: StringRest, length: int, *, is_open: bool, max_states: int) -> Dfa:
    content, unfolded = rest.content, _unfolded(rest, length)
    num_left = len(unfolded.left)
    accepting = content.accepting[unfolded.states] & (unfolded.number >= rest.fewest)
    accepting[len(accepting) - num_left :] = False  # the closing quote is read by what is left
    table = np.zeros((len(unfolded.states), unfolded.next_state.shape[1]), np.int32)
    table[: len(unfolded.next_state)] = unfolded.next_state
    piece = with_merged_classes(content.range_start, content.range_class, table, 1, accepting)
    spelled, atom_of_byte = spell_content(
        piece, "canonical", max_states=max_states, what="a piece of a JSON string"
    )
    label = np.zeros(len(spelled), np.int32)
    label[len(table) - num_left : len(table)] = np.arange(ENDED + 1, ENDED + 1 + num_left)
    before, end = len(table), len(table) + 1  # before the opening quote, after the closing one
    label[end] = ENDED
    if is_open:
        spelled, label = np.delete(spelled, before, 0), np.delete(label, before)
        spelled, before = spelled - (spelled > before), 1
    return replace(build_dfa(spelled, atom_of_byte, label, before), num_ends=ENDED)


def spelling_weight(content: CodePointDfa) -> int:
    """States that the bytes of one character take, about, times the states of a content."""
    return _known(content).weight


def _weight(content: CodePointDfa) -> int:
    tree = spelling_tree(content.range_start, content.range_class, is_canonical=True)
    targets, first = tree.target.tolist(), tree.edge_start.tolist()
    spells = [False] * len(first)
    for node in tree.order.tolist():
        edges = targets[first[node] : first[node + 1]]
        spells[node] = any(target > 0 or spells[-target] for target in edges)
    return max(1, sum(spells))


class _Unfolded(NamedTuple):
    """The states of a string by the number of characters read, as far as it can end from there.

    Attributes:
        states: int32, (num_pairs,); of the content. Pair 0 is DEAD and pair 1 the start.
        first: int32, (length + 2,); pairs first[n] .. first[n + 1] - 1 are after n characters.
        next_state: int32, (first[length], num_classes); pairs. Those after `length` characters, the
            last ones, have no rows: they lead nowhere.
    """

    states: NDArray[np.int32]
    first: NDArray[np.int32]
    next_state: NDArray[np.int32]

    @property
    def length(self) -> int:
        """Characters that are read at most."""
        return len(self.first) - 2

    @property
    def left(self) -> NDArray[np.int32]:
        """The states of the content after that; none if all strings have ended."""
        return self.states[self.first[-2] :]

    @property
    def number(self) -> NDArray[np.int64]:
        """int64, (num_pairs,): the characters read."""
        return np.searchsorted(self.first, np.arange(len(self.states)), side="right") - 1


def _unfolded(rest: StringRest, max_length: int, max_pairs: int = _ANY_NUMBER) -> _Unfolded:
    unfolded = _known(rest.content).unfoldings.get((*rest.place, max_length, max_pairs))
    if unfolded is None:
        unfolded = _unfold_rest(rest, max_length, max_pairs)
        _keep(unfolded, rest, max_length, max_pairs)
    return unfolded


def _keep(
    unfolded: _Unfolded, rest: StringRest, max_length: int, max_pairs: int = _ANY_NUMBER
) -> None:
    key = (*rest.place, max_length, max_pairs)
    _known(rest.content).unfoldings.put(key, unfolded, unfolded.next_state.nbytes)


def _unfold_rest(rest: StringRest, max_length: int, max_pairs: int) -> _Unfolded:
    known = _known(rest.content)
    bounds = (_NO_BOUNDS, -1) if rest.most is None else (known.shortest, rest.most)
    states, first, table, length = _unfold(
        *known.edges, known.num_classes, rest.state, *bounds, max_length, max_pairs
    )
    return _Unfolded(
        states[: first[length + 1]].copy(),
        first[: length + 2].copy(),
        table[: first[length]].copy(),
    )


@helper
def _pair_slot(slots: Ints, states: Ints, state: int) -> int:
    """Where the last pair of a state is noted, or would be."""
    slot = (state * 0x9E3779B1) & (len(slots) - 1)
    while slots[slot] != 0 and states[slots[slot]] != state:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def _unfold(
    edge_first: Ints,
    edge_symbol: Ints,
    edge_target: Ints,
    num_classes: int,
    start: int,
    shortest: Ints,
    most: int,
    max_length: int,
    max_pairs: int,
) -> tuple[Ints, Ints, Ints, int]:
    """Go on while there are states, no more than `max_length` characters and `max_pairs` pairs.

    At least one character is read. A bound `most` below 0 is none.
    """
    capacity = 64
    states = np.zeros(capacity, np.int32)
    table = np.zeros((2, num_classes), np.int32)
    slots = np.zeros(4 * capacity, np.int32)  # the last pair of each state, by open addressing
    first = np.zeros(max_length + 2, np.int32)
    states[1] = start
    num_pairs = 2
    first[0] = 1
    first[1] = 2
    length = 0
    while length < max_length and first[length] < num_pairs and num_pairs <= max_pairs:
        length += 1
        if first[length] > len(table):
            table = grown_rows(table, max(first[length], 2 * len(table)))
        for pair in range(first[length - 1], first[length]):
            if num_pairs > max_pairs and length > 1:
                break
            for e in range(edge_first[states[pair]], edge_first[states[pair] + 1]):
                target = edge_target[e]
                if most >= 0 and length + shortest[target] > most:
                    continue
                slot = _pair_slot(slots, states, target)
                if slots[slot] < first[length]:  # none after as many characters
                    if num_pairs == capacity:
                        capacity *= 2
                        states = grown(states, capacity)
                        slots = np.zeros(4 * capacity, np.int32)
                        for known in range(1, num_pairs):
                            slots[_pair_slot(slots, states, states[known])] = known
                        slot = _pair_slot(slots, states, target)
                    states[num_pairs] = target
                    slots[slot] = num_pairs
                    num_pairs += 1
                table[pair, edge_symbol[e]] = slots[slot]
        first[length + 1] = num_pairs
    if num_pairs > max_pairs and length > 1:  # the last character was one too many
        length -= 1
    return states, first, table, length


class _Known:
    """What is found out about a content; it must not keep the content alive.

    Attributes:
        weight: see `spelling_weight`.
        pieces: of `string_piece`, by everything but the content.
        unfoldings: likewise.
        edges: of the content.
        num_classes: likewise.
    """

    def __init__(self, content: CodePointDfa) -> None:
        self.weight = _weight(content)
        self.pieces: ByteLru[tuple[int | None, ...], Dfa] = ByteLru(_CACHE_BYTES)
        self.unfoldings: ByteLru[tuple[int | None, ...], _Unfolded] = ByteLru(_CACHE_BYTES)
        self.edges = content.edge_lists()
        self.num_classes = int(content.range_class.max()) + 1
        self._content = ref(content)

    @cached_property
    def shortest(self) -> NDArray[np.int32]:
        """int32, (num_states,): characters of the shortest way to the end; below 0 for DEAD."""
        content = self._content()
        assert content is not None, "it is asked for its rests alone"
        shortest, _ = measure(content.next_state, content.accepting)
        return shortest


def _known(content: CodePointDfa) -> _Known:
    known = _known_of_content.get(content)
    if known is None:
        known = _known_of_content[content] = _Known(content)
    return known


_known_of_content: Final[WeakKeyDictionary[CodePointDfa, _Known]] = WeakKeyDictionary()
