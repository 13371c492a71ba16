"""PartCharacters: a lexer that must look at whole characters, though it reads bytes.

Where a terminal ends and could go on, the next character decides (the longest match). Its first
bytes may be those of two characters, of which only one goes on: in UTF-8, and all the more in
JSON's escapes. So states in the middle of such a character get a label too. When no byte leads on,
it fires: the terminal had ended before the character, and what follows reads its first bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES
from grammars.cfg.spelling import any_character
from grammars.cfg.terminals import terminal_dfa
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.cfg.spelling import Spelling

MAX_ROWS: Final = 1 << 16
"""Rows of all bytes in one lexer: 64 MiB."""


class Prefix(NamedTuple):
    """What a state in the middle of a character remembers.

    Args:
        label: of the state before the character.
        data: the bytes of the character that have been read.
    """

    label: int
    data: bytes


class Told(NamedTuple):
    """A table over bytes.

    Args:
        next_state: int32, (num_states, 256); the states there were, and after them those in the
            middle of a character.
        labels: int32, (num_states,); the old ones, and after them one for each prefix.
        prefixes: in the order of their labels.
    """

    next_state: NDArray[np.int32]
    labels: NDArray[np.int32]
    prefixes: list[Prefix]


class PartCharacters:
    """Finds the states in the middle of characters.

    Args:
        spelling: of the characters.
        max_states: states of a lexer.
    """

    def __init__(self, spelling: Spelling, max_states: int) -> None:
        character = terminal_dfa(any_character(), spelling, max_states=max_states)
        self._start = character.start
        self._after = character.next_state[:, character.symbol_class[:NUM_BYTES]]
        self._is_inside = character.label == NO_LABEL
        self._is_inside[[DEAD, self._start]] = False
        self._order = _inner_first(self._after, self._is_inside)
        self._max_states = max_states

    def with_prefixes(
        self,
        next_state: NDArray[np.int32],
        labels: NDArray[np.int32],
        atom_of_byte: NDArray[np.int32],
    ) -> Told | None:
        """The lexer with a label in the middle of each character that might not go on.

        Args:
            next_state: int32, (num_states, num_atoms).
            labels: int32, (num_states,).
            atom_of_byte: int32, (256,).

        Returns:
            The lexer; None where no label is needed.

        Raises:
            LimitExceededError: it needs more than `max_states` states.
        """
        first_bytes = np.flatnonzero(self._is_inside[self._after[self._start]])
        labelled = np.flatnonzero(labels)
        target = next_state[labelled][:, atom_of_byte[first_bytes]]
        if not target.any():  # all lead to DEAD: nothing goes on with a character of many bytes
            return None
        goes_on = self._goes_on(next_state, atom_of_byte)
        is_told = ~goes_on[self._after[self._start, first_bytes], target].all(axis=1)
        if not is_told.any():
            return None
        by_byte = next_state[:, atom_of_byte]
        rows = list(by_byte.copy())
        number: dict[tuple[int, Prefix], int] = {}  # old state and what it remembers -> new state
        pending = [
            (rows[state], self._start, Prefix(int(labels[state]), b""))
            for state in labelled[is_told].tolist()
        ]
        for row, character, (label, data) in pending:  # grows while it is read
            inside = self._after[character]
            for byte in (~goes_on[inside, row]).nonzero()[0].tolist():
                key = (int(row[byte]), Prefix(label, data + bytes([byte])))
                if key not in number:
                    number[key] = len(rows)
                    rows.append(by_byte[key[0]].copy())
                    pending.append((rows[-1], int(inside[byte]), key[1]))
                    self._check(len(rows))
                row[byte] = number[key]
        prefixes = list(dict.fromkeys(prefix for _, prefix in number))
        label_of = {prefix: i for i, prefix in enumerate(prefixes, int(labels.max()) + 1)}
        new_labels = np.array([label_of[prefix] for _, prefix in number], np.int32)
        return Told(np.stack(rows), np.concatenate((labels, new_labels)), prefixes)

    def _goes_on(
        self, next_state: NDArray[np.int32], atom_of_byte: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Whether every character goes on from a state that has begun in a certain way.

        Returns:
            bool, (num_character_states, num_states); where a character is not under way, and in
            DEAD, True.
        """
        goes_on = np.ones((len(self._after), len(next_state)), np.bool_)
        for character in self._order:
            after = self._after[character]
            ways = set(
                zip(
                    atom_of_byte[after != DEAD].tolist(), after[after != DEAD].tolist(), strict=True
                )
            )
            for atom, inside in ways:
                target = next_state[:, atom]
                goes_on[character] &= (target != DEAD) & goes_on[inside, target]
            goes_on[character, DEAD] = True
        return goes_on

    def _check(self, num_rows: int) -> None:
        granted = min(MAX_ROWS, self._max_states)
        if num_rows > granted:
            raise LimitExceededError("max_states", granted, "a lexer of whole characters")


@lru_cache(maxsize=8)
def part_characters(spelling: Spelling, max_states: int) -> PartCharacters:
    """The same for all grammars: what is known of characters is in none of them."""
    return PartCharacters(spelling, max_states)


def _inner_first(after: NDArray[np.int32], is_inside: NDArray[np.bool_]) -> list[int]:
    """The states in the middle of a character, each behind those that it leads to."""
    waiting = np.flatnonzero(is_inside).tolist()
    order: list[int] = []
    while waiting:
        ready = [
            state
            for state in waiting
            if not is_inside[after[state]][~np.isin(after[state], order)].any()
        ]
        order += ready
        waiting = [state for state in waiting if state not in ready]
    return order
