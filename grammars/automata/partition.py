"""Partition: the classes of code points that the sets of a pattern do not tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.charset import NUM_CODE_POINTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from grammars.automata.charset import CharSet


@dataclass(frozen=True, slots=True)
class Partition:
    """The coarsest classes of code points that a list of sets does not tell apart.

    Args:
        range_start, range_class: as in `CodePointDfa`; class 0 is in no set.
        num_classes: class 0 included.
        class_runs: for each set, its classes as inclusive runs.
    """

    range_start: NDArray[np.int32]
    range_class: NDArray[np.int32]
    num_classes: int
    class_runs: list[list[tuple[int, int]]]


def partition_of(sets: Iterable[CharSet]) -> Partition:
    """The partition; `class_runs` are in the order of the sets."""
    sets = list(sets)
    starts = np.array(sorted({0}.union(*(members.bounds for members in sets))), np.int32)
    starts = starts[starts < NUM_CODE_POINTS]
    is_member = np.empty((len(sets), starts.shape[0]), np.bool_)
    signature = np.zeros(starts.shape[0], np.int64)  # which sets a range is in; 0: none
    for number, members in enumerate(sets):
        is_member[number] = np.searchsorted(members.bounds, starts, side="right") % 2
        if number % 32 == 31:  # make room for the next bits
            signature = np.unique(signature, return_inverse=True)[1]
        signature = 2 * signature + is_member[number]
    # Surrogates are in no set, so signature 0 exists and becomes class 0.
    values, representative, range_class = np.unique(
        signature, return_index=True, return_inverse=True
    )
    class_runs = [runs(np.flatnonzero(row).tolist()) for row in is_member[:, representative]]
    return Partition(starts, range_class.astype(np.int32), values.shape[0], class_runs)


def runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as inclusive runs."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
