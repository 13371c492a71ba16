"""Partition: the classes of code points that the sets of a pattern do not tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from operator import xor
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.charset import NUM_CODE_POINTS
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from grammars.automata.charset import CharSet


MAX_PAIRS: Final = 32_000_000
"""Sets times the ranges between all of their bounds."""

MAX_MEMBERSHIPS: Final = 4_000_000
"""Sets times the classes in each."""

_FEW_PAIRS: Final = 4_096
"""Sets times their bounds of a small partition."""


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
    """The partition; `class_runs` are in the order of the sets.

    Raises:
        LimitExceededError: more than MAX_PAIRS or MAX_MEMBERSHIPS.
    """
    sets = list(sets)
    num_bounds = sum([len(members.bounds) for members in sets])
    is_small = len(sets) * num_bounds <= _FEW_PAIRS
    return small_partition(sets) if is_small else large_partition(sets)


def small_partition(sets: list[CharSet]) -> Partition:
    """The same by a sweep in plain Python, which is faster for the few sets of most patterns."""
    changes = {0: 0}  # where some sets begin or end: their bits, the first set's the highest
    bits = [1 << number for number in range(len(sets) - 1, -1, -1)]
    for bit, members in zip(bits, sets, strict=True):
        for bound in members.bounds:
            changes[bound] = changes.get(bound, 0) ^ bit
    changes.pop(NUM_CODE_POINTS, None)
    starts = sorted(changes)
    signatures = list(accumulate([changes[start] for start in starts], xor))
    values = sorted(set(signatures))
    class_of = {signature: number for number, signature in enumerate(values)}
    return Partition(
        np.array(starts, np.int32),
        np.array([class_of[signature] for signature in signatures], np.int32),
        len(values),
        [runs([i for i, value in enumerate(values) if value & bit]) for bit in bits],
    )


def large_partition(sets: list[CharSet]) -> Partition:
    """The partition of any number of sets."""
    starts = np.array(sorted({0}.union(*(members.bounds for members in sets))), np.int32)
    starts = starts[starts < NUM_CODE_POINTS]
    _check(len(sets) * len(starts), "max_class_pairs", MAX_PAIRS)
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
    is_member = is_member[:, representative]
    _check(int(np.count_nonzero(is_member)), "max_class_members", MAX_MEMBERSHIPS)
    class_runs = [runs(np.flatnonzero(row).tolist()) for row in is_member]
    return Partition(starts, range_class.astype(np.int32), values.shape[0], class_runs)


def _check(number: int, limit: str, allowed: int) -> None:
    if number > allowed:
        raise LimitExceededError(limit, allowed, "the classes of a pattern")


def runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as inclusive runs."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
