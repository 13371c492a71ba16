"""kernel, helper: numba's compiler under typed names, and the helpers that several kernels share.

A kernel is compiled anew for each literal int that it is given, so a counter that is passed on
begins as `int(np.int64(0))`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from grammars.automata.kernel_stamp import imports_stamp

if TYPE_CHECKING:
    from collections.abc import Callable

Ints: TypeAlias = NDArray[np.int32]
Bools: TypeAlias = NDArray[np.bool_]
Number = TypeVar("Number", np.int32, np.int64)
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile `function` on its first call; the code is kept on disk and runs without the GIL.

    For what Python calls; what only kernels call is a `helper`.
    """
    return kept_on_disk(function, {"no_cfunc_wrapper": True})


def kept_on_disk(
    function: Callable[Parameters, Result], options: dict[str, Any]
) -> Callable[Parameters, Result]:
    """Such a kernel, whose code is kept for as long as all that it is made of stays as it is.

    Where no folder for the code can be written, it is kept nowhere. What the kernel imports must be
    imported above it.

    Args:
        function: the kernel.
        options: of numba, which have no types.
    """
    try:
        compiled = numba.njit(function, nogil=True, cache=True, **options)
    except RuntimeError:  # "no locator available"
        compiled = numba.njit(function, nogil=True, **options)
    else:
        file = compiled._cache._cache_file  # noqa: SLF001  # numba stamps it with one file alone
        stamp = imports_stamp(function.__globals__)
        file._source_stamp = (file._source_stamp, stamp)  # noqa: SLF001
    return cast("Callable[Parameters, Result]", compiled)


def helper(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile `function` into the kernels that call it; Python must not call it, it would crash.

    It has no entry for Python, and nothing of its own on disk: kernels that are compiled by several
    processes at once would write the same file.
    """
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled = numba.njit(function, nogil=True, **options)
    return cast("Callable[Parameters, Result]", compiled)


@helper
def open_states(next_state: Ints, label: Ints) -> Bools:
    """Which states of a `Dfa` are alive and fire no label as they are come to.

    The others that are alive accept and have no way on.
    """
    num_states, num_classes = next_state.shape
    is_open = np.zeros(num_states, np.bool_)
    for s in range(1, num_states):
        is_open[s] = label[s] == 0
        for c in range(1, num_classes):
            if next_state[s, c] != 0:
                is_open[s] = True
    return is_open


@helper
def usual_target(
    state: int, next_state: Ints, symbol_class: NDArray[np.uint16], num_symbols: int
) -> int:
    """The state that most of the first symbols lead to; 0 where all are refused."""
    num_leading = np.zeros(next_state.shape[0], np.int32)
    usual = 0
    for symbol in range(num_symbols):
        target = next_state[state, symbol_class[symbol]]
        if target != 0:
            num_leading[target] += 1
            if num_leading[target] > num_leading[usual]:
                usual = int(target)
    return usual


@helper
def grown(values: NDArray[Number], size: int) -> NDArray[Number]:
    """A copy of an array with room for `size` values; the new ones are 0.

    A loop, because numba takes seconds to compile a slice assignment with its error messages.
    """
    bigger = np.zeros(size, values.dtype)
    for i in range(values.shape[0]):
        bigger[i] = values[i]
    return bigger


@helper
def grown_rows(table: Ints, num_rows: int) -> Ints:
    """A copy of a two-dimensional array with room for `num_rows` rows; the new ones are 0."""
    bigger = np.zeros((num_rows, table.shape[1]), np.int32)
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            bigger[row, column] = table[row, column]
    return bigger


@helper
def grouped(keys: Ints, size: int, num_keys: int) -> tuple[Ints, Ints]:
    """Counting sort: those of 0 .. size - 1 with key k are order[first[k]:first[k + 1]], ascending.

    Returns:
        first, (num_keys + 1,), and order, (size,).
    """
    first = np.zeros(num_keys + 1, np.int32)
    for i in range(size):
        first[keys[i]] += 1
    total = np.int32(0)
    for k in range(num_keys):
        total += first[k]
        first[k] = total
    first[num_keys] = total
    order = np.empty(size, np.int32)
    for i in range(size - 1, -1, -1):
        first[keys[i]] -= 1
        order[first[keys[i]]] = i
    return first, order


@helper
def sort_small(values: Ints, size: int) -> None:
    """Sort values[:size] ascending, in place: Shell sort, cheap for the usual short runs."""
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            value = values[i]
            k = i
            while k >= gap and values[k - gap] > value:
                values[k] = values[k - gap]
                k -= gap
            values[k] = value
        gap //= 3


@helper
def hash_slots(hashes: Ints, first: int, past: int, capacity: int) -> Ints:
    """An open-addressing table with room for `capacity` numbers; it holds first .. past - 1.

    Its length is a power of two; number n is at hashes[n], which is not negative, modulo the length
    or, after taken slots, behind it. A free slot is 0, so that 0 cannot be a number.
    """
    num_slots = 4
    while num_slots < 3 * capacity:
        num_slots *= 2
    slots = np.zeros(num_slots, np.int32)
    for n in range(first, past):
        slot = hashes[n] & (num_slots - 1)
        while slots[slot] != 0:
            slot = (slot + 1) & (num_slots - 1)
        slots[slot] = n
    return slots


@helper
def edges_into(next_state: Ints) -> tuple[Ints, Ints]:
    """The states from which each state is entered, by counting sort.

    Args:
        next_state: (num_states, num_classes); state 0 and class 0 are dead and left out.

    Returns:
        (num_states + 2,) and (num_edges,): those that enter state s, one for each edge, are
        tail[first[s]] to before tail[first[s + 1]], ascending.
    """
    num_states, num_classes = next_state.shape
    first = np.zeros(num_states + 2, np.int32)
    for s in range(1, num_states):
        for c in range(1, num_classes):
            first[next_state[s, c] + 1] += 1
    for s in range(num_states + 1):
        first[s + 1] += first[s]
    fill = first.copy()
    tail = np.empty(first[num_states], np.int32)
    for s in range(1, num_states):
        for c in range(1, num_classes):
            target = next_state[s, c]
            tail[fill[target]] = s
            fill[target] += 1
    return first, tail
