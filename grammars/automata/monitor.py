"""Monitor: the automaton that runs along a text and tells the context of each place in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.dfa import DEAD
from grammars.automata.letters import Letters
from grammars.automata.pattern_ast import Anchor
from grammars.automata.product import Operation, product

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

_BOUNDARIES: Final = frozenset((Anchor.WORD_BOUNDARY, Anchor.NO_WORD_BOUNDARY))


@dataclass(frozen=True, slots=True)
class Monitor:
    """A deterministic automaton over classes of characters that never dies.

    Args:
        next_state: int32, (num_states, num_classes); row DEAD is unused.
        context: int32, (num_states, num_classes + 1); the context of a place: the state after what
            is before it, the class of what is after it (the last one is the end).
        start: the state before the text.
        letters: its classes and contexts.
    """

    next_state: NDArray[np.int32]
    context: NDArray[np.int32]
    start: int
    letters: Letters

    def over_letters(self, *, reads_end: bool = False) -> NDArray[np.int32]:
        """int32, (num_states, num_letters): as a table over letters; DEAD in another context.

        Args:
            reads_end: let the end lead to one more state, which is added.
        """
        num_states, num_classes = self.next_state.shape
        table = np.zeros((num_states + reads_end, self.letters.count), np.int32)
        rows = np.arange(1, num_states)[:, None]
        columns = np.arange(num_classes) * self.letters.num_contexts + self.context[1:, :-1]
        table[rows, columns] = self.next_state[1:]
        if reads_end:
            ends = num_classes * self.letters.num_contexts + self.context[1:, -1]
            table[rows[:, 0], ends] = num_states
        return table

    def beside(
        self, table: NDArray[np.int32], start: int, value: NDArray[np.int32], max_states: int
    ) -> tuple[Monitor, NDArray[np.int64], NDArray[np.int64]]:
        """Tell also the values of an automaton over the letters of this monitor.

        Args:
            table: int32, (num_states, num_letters); it may die.
            start: its start.
            value: int32, (num_states, num_letters), >= 0; of a place: the state after what is
                before it, the letter after it.
            max_states: states of the result at most.

        Returns:
            The finer monitor, the old context of each of its contexts, and the value of each.
        """
        letters = self.letters
        columns = np.tile(np.arange(letters.count, dtype=np.int32), (2, 1))
        pairs = product(
            Operation.DIFFERENCE,
            (self.over_letters(), self.start),
            (table, start),
            columns,
            max_states=max_states,
            what="a pattern's lookbehind",
        )
        context = self.context[pairs.left]
        letter = np.arange(letters.num_classes + 1) * letters.num_contexts + context
        num_values = int(value.max()) + 1
        told = context.astype(np.int64) * num_values + value[pairs.right[:, None], letter]
        told[DEAD] = told[pairs.start]
        contexts, finer = np.unique(told, return_inverse=True)
        next_state = pairs.next_state[np.arange(len(letter))[:, None], letter[:, :-1]]
        monitor = Monitor(
            next_state,
            finer.reshape(told.shape).astype(np.int32),
            pairs.start,
            Letters(letters.num_classes, len(contexts)),
        )
        return monitor, contexts // num_values, contexts % num_values

    def read(
        self, table: NDArray[np.int32], start: int, max_states: int
    ) -> tuple[NDArray[np.int32], int, NDArray[np.bool_]]:
        """The texts whose letters a table accepts.

        Args:
            table: int32, (num_states, num_letters); an end leads to a live state in a text that is
                accepted.
            start: its start.
            max_states: states of the result at most.

        Returns:
            next_state int32, (num_states, num_classes), its start, and which states accept.
        """
        letters = self.letters
        if letters.num_contexts == 1:
            return np.ascontiguousarray(table[:, :-1]), start, table[:, -1] != DEAD
        columns = np.tile(np.arange(letters.count, dtype=np.int32), (2, 1))
        pairs = product(
            Operation.INTERSECT,
            (self.over_letters(reads_end=True), self.start),
            (table, start),
            columns,
            max_states=max_states,
            what="a pattern",
        )
        # In one context at most does each class lead somewhere.
        by_class = pairs.next_state.reshape(-1, letters.num_classes + 1, letters.num_contexts)
        next_state = by_class.max(axis=2)
        return (
            np.ascontiguousarray(next_state[:, :-1]),
            pairs.start,
            next_state[:, -1] != DEAD,
        )


def monitor_of_anchors(
    anchors: Collection[Anchor], is_word: NDArray[np.bool_]
) -> tuple[Monitor, dict[Anchor, NDArray[np.bool_]]]:
    r"""The monitor that tells what some anchors ask for.

    Args:
        anchors: the anchors that are used.
        is_word: bool, (num_classes,); whether the class is of word characters (`\w`), false where
            no word boundary is used.

    Returns:
        The monitor, and for each anchor the letters before which it holds: bool, (num_letters,).
    """
    num_classes = len(is_word)
    tells_start = Anchor.START in anchors
    tells_word = not _BOUNDARIES.isdisjoint(anchors)
    # Whether it is the start and whether a word character is before it, as far as they matter.
    start, after_word, after_other = (tells_start, False), (False, tells_word), (False, False)
    contexts = list(dict.fromkeys((start, after_word, after_other)))
    state = {told: number for number, told in enumerate(contexts, 1)}
    row = np.where(is_word, state[after_word], state[after_other]).astype(np.int32)
    next_state = np.tile(row, (len(contexts) + 1, 1))
    number = np.maximum(np.arange(len(contexts) + 1, dtype=np.int32) - 1, 0)
    letters = Letters(num_classes, len(contexts))
    monitor = Monitor(
        next_state, np.tile(number[:, None], (1, num_classes + 1)), state[start], letters
    )
    is_start, is_after_word = np.array(contexts)[letters.context_of_letter].T
    is_before_word = np.append(is_word, False)[letters.class_of_letter]
    holds = {
        Anchor.START: is_start,
        Anchor.END: letters.class_of_letter == num_classes,
        Anchor.WORD_BOUNDARY: is_after_word != is_before_word,
        Anchor.NO_WORD_BOUNDARY: is_after_word == is_before_word,
    }
    return monitor, {anchor: holds[anchor] for anchor in anchors}
