"""PartCharacters: a lexer that must look at whole characters, though it reads bytes.

Where a terminal ends and could go on, the next character decides (the longest match). Its first
bytes may be those of two characters, of which only one goes on: in UTF-8, and all the more in
JSON's escapes. So states in the middle of such a character get a label too. When no byte leads on,
it fires: the terminal had ended before the character, and what follows reads its first bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammars.automata.dfa import DEAD, NO_LABEL, NUM_BYTES
from grammars.cfg.spelling import any_character
from grammars.cfg.terminals import terminal_dfa
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.cfg.spelling import Spelling


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
        next_state: int32, (num_states, 256).
        labels: int32, (num_states,); the old ones, and after them one for each prefix.
        start: the initial state.
        prefixes: in the order of their labels.
    """

    next_state: NDArray[np.int32]
    labels: NDArray[np.int32]
    start: int
    prefixes: list[Prefix]


class PartCharacters:
    """Finds the states in the middle of characters.

    Args:
        spelling: of the characters.
        max_states: states of a lexer.
    """

    def __init__(self, spelling: Spelling, max_states: int) -> None:
        self._characters = terminal_dfa(
            any_character(), spelling, max_states=max_states, missing_bytes=frozenset()
        )
        self._max_states = max_states

    def with_prefixes(
        self,
        next_state: NDArray[np.int32],
        labels: NDArray[np.int32],
        start: int,
        atom_of_byte: NDArray[np.int32],
    ) -> Told | None:
        """The lexer with a label in the middle of each character that might not go on.

        Args:
            next_state: int32, (num_states, num_atoms).
            labels: int32, (num_states,).
            start: the initial state.
            atom_of_byte: int32, (256,).

        Returns:
            The lexer; None where no label is needed.

        Raises:
            LimitExceededError: it needs more than `max_states` states.
        """
        by_byte = next_state[:, atom_of_byte]
        whole: dict[tuple[int, int], bool] = {}
        numbers: dict[tuple[int, Prefix | None], int] = {}
        order: list[tuple[int, Prefix | None]] = []

        def number(state: int, prefix: Prefix | None) -> int:
            key = (state, prefix)
            if key not in numbers:
                numbers[key] = len(order) + 1
                order.append(key)
                if len(order) >= self._max_states:
                    raise LimitExceededError("max_states", self._max_states, "a lexer")
            return numbers[key]

        number(start, None)
        rows = [np.zeros(NUM_BYTES, np.int32)]
        for state, prefix in order:
            row = np.zeros(NUM_BYTES, np.int32)
            label = int(labels[state]) if prefix is None else prefix.label
            read = b"" if prefix is None else prefix.data
            character = self._characters.run(read)
            for byte in np.flatnonzero(by_byte[state]).tolist():
                target = int(by_byte[state, byte])
                inside = self._characters.step(character, byte) if label else DEAD
                is_inside = inside != DEAD and self._characters.label[inside] == NO_LABEL
                told = None
                if is_inside and not self._goes_on(target, inside, by_byte, whole):
                    told = Prefix(label, read + bytes([byte]))
                row[byte] = number(target, told)
            rows.append(row)
        prefixes = list(dict.fromkeys(prefix for _, prefix in order if prefix is not None))
        if not prefixes:
            return None
        first = int(labels.max()) + 1
        label_of = {prefix: first + i for i, prefix in enumerate(prefixes)}
        told_labels = [NO_LABEL]
        told_labels += [int(labels[s]) if p is None else label_of[p] for s, p in order]
        return Told(np.stack(rows), np.array(told_labels, np.int32), 1, prefixes)

    def _goes_on(
        self,
        state: int,
        character: int,
        by_byte: NDArray[np.int32],
        whole: dict[tuple[int, int], bool],
    ) -> bool:
        """Whether every character with this beginning goes on from a state."""
        key = (state, character)
        if key not in whole:
            whole[key] = all(
                by_byte[state, byte] != DEAD
                and (
                    self._characters.label[after] != NO_LABEL
                    or self._goes_on(int(by_byte[state, byte]), after, by_byte, whole)
                )
                for byte in range(NUM_BYTES)
                if (after := self._characters.step(character, byte)) != DEAD
            )
        return whole[key]
