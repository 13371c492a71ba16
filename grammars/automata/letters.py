"""Letters: what automata with assertions read in place of characters.

A letter is the class of a character, or the end of the text, together with the *context* of the
place before it: what the text so far makes true there (it is the start, a word ends here, a
lookbehind holds). Every text is then a sequence of letters with one end, at its end, and whatever
an assertion asks of a place is told by the next letter or, by lookahead, by the letters from there.
Sets of letters are masks: bit i of an int is letter i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.partition import runs

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of one pattern: number class * num_contexts + context.

    Args:
        num_classes: classes of characters, class 0 (no character at all) included; the end counts
            as one class more.
        num_contexts: contexts.
    """

    num_classes: int
    num_contexts: int

    @property
    def count(self) -> int:
        """How many there are."""
        return (self.num_classes + 1) * self.num_contexts

    @property
    def every(self) -> int:
        """The mask of all letters."""
        return (1 << self.count) - 1

    @property
    def end(self) -> int:
        """The mask of the ends."""
        return self.of_classes(self.num_classes, self.num_classes)

    @property
    def class_of_letter(self) -> NDArray[np.int64]:
        """The class of each letter, (count,)."""
        return np.repeat(np.arange(self.num_classes + 1), self.num_contexts)

    @property
    def context_of_letter(self) -> NDArray[np.int64]:
        """The context of each letter, (count,)."""
        return np.tile(np.arange(self.num_contexts), self.num_classes + 1)

    def of_classes(self, first: int, last: int) -> int:
        """The mask of the letters of classes first .. last."""
        size = (last + 1 - first) * self.num_contexts
        return ((1 << size) - 1) << (first * self.num_contexts)


def mask_of(is_member: NDArray[np.bool_]) -> int:
    """The mask of the letters at which a bool array, (num_letters,), is true."""
    return int.from_bytes(np.packbits(is_member, bitorder="little").tobytes(), "little")


def members_of(mask: int, num_letters: int) -> NDArray[np.bool_]:
    """The bool array, (num_letters,), of a mask."""
    data = np.frombuffer(mask.to_bytes((num_letters + 7) // 8, "little"), np.uint8)
    return np.unpackbits(data, count=num_letters, bitorder="little").astype(np.bool_)


@lru_cache(maxsize=4096)
def runs_of(mask: int) -> tuple[tuple[int, int], ...]:
    """The letters of a mask as inclusive runs."""
    return tuple(runs(np.flatnonzero(members_of(mask, mask.bit_length())).tolist()))
