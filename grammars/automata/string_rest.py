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
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary, ref

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.codepoint_dfa import CodePointDfa, with_merged_classes
from grammars.automata.content_bytes import content_bytes
from grammars.automata.json_string import spell_content
from grammars.automata.lengths import measure
from grammars.automata.string_layers import ANY_NUMBER, StringLayers, string_layers
from grammars.byte_lru import ByteLru

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa

MAX_PIECE_LENGTH: Final = 256
"""Characters of a piece at most."""

ENDED: Final = 1
"""The label of a string that has ended; what is left in other cases has the labels after it."""

_CACHE_BYTES: Final = 4 * 1024 * 1024
"""What is kept of the pieces of one content, while it is there."""


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
        left = _layers_of(self, num_characters).left.tolist()
        return tuple([StringRest(self.content, state, fewest, most) for state in left])

    def near(self, num_characters: int) -> StringRest:
        """The same within so many characters, and equal for all rests that are."""
        fewest, most = min(self.fewest, num_characters + 1), self.most
        if most is not None and most >= num_characters + int(_known(self.content).shortest.max()):
            most = None
        return StringRest(self.content, self.state, fewest, most)


def piece_length(rest: StringRest, max_states: int) -> int:
    """Characters of a piece that has at most about `max_states` states; at least 1."""
    layers = _layers_of(rest, MAX_PIECE_LENGTH, max_states // spelling_weight(rest.content))
    _keep(layers, rest, layers.length)  # it is asked for next
    return layers.length


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
    content, layers = rest.content, _layers_of(rest, length)
    num_left = len(layers.left)
    accepting = content.accepting[layers.states] & (layers.number >= rest.fewest)
    accepting[len(accepting) - num_left :] = False  # the closing quote is read by what is left
    table = np.zeros((len(layers.states), layers.next_state.shape[1]), np.int32)
    table[: len(layers.next_state)] = layers.next_state
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


def _layers_of(rest: StringRest, max_length: int, max_pairs: int = ANY_NUMBER) -> StringLayers:
    layers = _known(rest.content).layers.get((*rest.place, max_length, max_pairs))
    if layers is None:
        known = _known(rest.content)
        layers = string_layers(
            known.edges,
            known.num_classes,
            rest.state,
            max_length,
            max_pairs,
            most=rest.most,
            shortest=None if rest.most is None else known.shortest,
        )
        _keep(layers, rest, max_length, max_pairs)
    return layers


def _keep(
    layers: StringLayers, rest: StringRest, max_length: int, max_pairs: int = ANY_NUMBER
) -> None:
    key = (*rest.place, max_length, max_pairs)
    _known(rest.content).layers.put(key, layers, layers.next_state.nbytes)


class _Known:
    """What is found out about a content; it must not keep the content alive.

    Attributes:
        weight: see `spelling_weight`.
        pieces: of `string_piece`, by everything but the content.
        layers: likewise.
        edges: of the content.
        num_classes: likewise.
    """

    def __init__(self, content: CodePointDfa) -> None:
        by_bytes = content_bytes(content)
        self.weight = max(1, int(by_bytes.spells.any(axis=1).sum()))
        self.pieces: ByteLru[tuple[int | None, ...], Dfa] = ByteLru(_CACHE_BYTES)
        self.layers: ByteLru[tuple[int | None, ...], StringLayers] = ByteLru(_CACHE_BYTES)
        self.edges = by_bytes.edges
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
