"""Subset construction: from an NFA's edge lists to the table of a deterministic automaton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.kernels import (
    grouped,
    grown,
    grown_rows,
    hash_slots,
    helper,
    kernel,
    sort_small,
)
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Bools, Ints

WORK_PER_STATE = 256
"""NFA steps granted for each state of the limit: a large set counts as several states."""

_SILENT_PER_STEP: Final = 8
"""Steps that read nothing and count as one that does: they take so much less."""

_NO_GROUPS: Final = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class Nfa:
    """A nondeterministic automaton as edge lists; symbols are small dense numbers.

    Args:
        num_states: states are 0 .. num_states - 1.
        start: the initial state.
        epsilon_source, epsilon_target: int32, (num_epsilons,); edges that read nothing.
        source, low, high, target: int32, (num_edges,); edges on any symbol of low .. high,
            inclusive.
        accepting: bool, (num_states,).
        num_symbols: symbols are 0 .. num_symbols - 1.
        accepts_all: a state from which every text is accepted; a set with it needs no other member.
        group: int32, (num_states,), or None; of the states of one group, 0 aside, each accepts all
            that those of greater rank do, so a set needs only the one of the least rank.
        rank: int32, (num_states,), with `group`.
    """

    num_states: int
    start: int
    epsilon_source: NDArray[np.int32]
    epsilon_target: NDArray[np.int32]
    source: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    target: NDArray[np.int32]
    accepting: NDArray[np.bool_]
    num_symbols: int
    accepts_all: int | None = None
    group: NDArray[np.int32] | None = None
    rank: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True)
class SubsetTable:
    """A deterministic table and the NFA states that each of its states stands for.

    Args:
        next_state: int32, (num_states, num_symbols); row DEAD is all DEAD.
        start: DEAD for the empty language.
        set_start: int32, (num_states + 1,); state s stands for set_items[set_start[s]:set_start[s
            + 1]].
        set_items: int32; NFA states that accept or have edges, ascending within a set.
    """

    next_state: NDArray[np.int32]
    start: int
    set_start: NDArray[np.int32]
    set_items: NDArray[np.int32]

    def state_of_item(self) -> NDArray[np.int32]:
        """int32, (len(set_items),): the deterministic state that each item belongs to."""
        num_states = self.next_state.shape[0]
        return np.repeat(np.arange(num_states, dtype=np.int32), np.diff(self.set_start))


def determinise(
    nfa: Nfa, *, max_states: int, what: str, max_steps: int | None = None
) -> SubsetTable:
    """Make `nfa` deterministic; every state but DEAD can reach an accepting one.

    NFA states from which nothing is accepted are dropped first, so no dead state comes out.

    Args:
        nfa: the automaton.
        max_states: deterministic states at most.
        what: it is, in errors.
        max_steps: NFA steps at most; None: WORK_PER_STATE for each state of the limit.

    Raises:
        LimitExceededError: more than `max_states` states, or sets so large that they cost as much.
    """
    next_state, start, set_start, set_items, num_sets = _determinise(
        nfa.num_states,
        nfa.start,
        nfa.epsilon_source,
        nfa.epsilon_target,
        nfa.source,
        nfa.low,
        nfa.high,
        nfa.target,
        nfa.accepting,
        nfa.num_symbols,
        -1 if nfa.accepts_all is None else nfa.accepts_all,
        _NO_GROUPS if nfa.group is None else nfa.group,
        _NO_GROUPS if nfa.rank is None else nfa.rank,
        max_states,
        WORK_PER_STATE * max_states if max_steps is None else max_steps,
    )
    if start < 0:
        raise LimitExceededError("max_states", max_states, what)
    return SubsetTable(
        next_state[:num_sets].copy(),
        start,
        set_start[: num_sets + 1].copy(),
        set_items[: set_start[num_sets]].copy(),
    )


@helper
def _mark_sources(
    state: int, first: Ints, order: Ints, source: Ints, useful: Bools, stack: Ints, depth: int
) -> int:
    """Mark the sources of the edges into a state, and push the new ones; the stack's new depth."""
    for i in range(first[state], first[state + 1]):
        before = source[order[i]]
        if not useful[before]:
            useful[before] = True
            stack[depth] = before
            depth += 1
    return depth


@helper
def _mark_useful(
    epsilon_source: Ints, epsilon_target: Ints, source: Ints, target: Ints, accepting: Bools
) -> Bools:
    """Which NFA states reach an accepting one."""
    num_states = accepting.shape[0]
    epsilon_first, epsilon_order = grouped(epsilon_target, epsilon_target.shape[0], num_states)
    first, order = grouped(target, target.shape[0], num_states)
    useful = np.zeros(num_states, np.bool_)
    stack = np.empty(num_states, np.int32)
    depth = int(np.int64(0))
    for s in range(num_states):
        if accepting[s]:
            useful[s] = True
            stack[depth] = s
            depth += 1
    while depth > 0:
        depth -= 1
        state = stack[depth]
        depth = _mark_sources(
            state, epsilon_first, epsilon_order, epsilon_source, useful, stack, depth
        )
        depth = _mark_sources(state, first, order, source, useful, stack, depth)
    return useful


@helper
def _close(
    chain: int,
    pair_target: Ints,
    pair_next: Ints,
    now: int,
    stamp: Ints,
    stack: Ints,
    closure: Ints,
    useful: Bools,
    accepting: Bools,
    first: Ints,
    epsilon_first: Ints,
    epsilon_order: Ints,
    epsilon_target: Ints,
) -> tuple[int, int]:
    """Fill `closure` with what the targets of a list reach on no input; its size, and the steps.

    Only states that accept or have edges are kept. Reached states are stamped with `now`.
    """
    size = 0
    num_silent = 0
    while chain != 0:
        seed = pair_target[chain]
        chain = pair_next[chain]
        if stamp[seed] == now:
            continue
        stamp[seed] = now
        stack[0] = seed
        depth = 1
        while depth > 0:
            depth -= 1
            state = stack[depth]
            if accepting[state] or first[state + 1] > first[state]:
                closure[size] = state
                size += 1
            num_silent += epsilon_first[state + 1] - epsilon_first[state]
            for k in range(epsilon_first[state], epsilon_first[state + 1]):
                other = epsilon_target[epsilon_order[k]]
                if useful[other] and stamp[other] != now:
                    stamp[other] = now
                    stack[depth] = other
                    depth += 1
    return size, size + num_silent // _SILENT_PER_STEP


@helper
def _is_set(set_items: Ints, set_start: Ints, number: int, closure: Ints, size: int) -> bool:
    """Whether set `number` is closure[:size]."""
    first = set_start[number]
    if set_start[number + 1] - first != size:
        return False
    for k in range(size):  # noqa: SIM110 - numba has no all()
        if set_items[first + k] != closure[k]:
            return False
    return True


@helper
def _keep_least(
    closure: Ints,
    size: int,
    group: Ints,
    rank: Ints,
    least: Ints,
    least_stamp: Ints,
    now: int,
) -> int:
    """Keep of each group in closure[:size] the state of the least rank; the new size."""
    for k in range(size):
        g = group[closure[k]]
        if g > 0 and (least_stamp[g] != now or rank[closure[k]] < least[g]):
            least_stamp[g] = now
            least[g] = rank[closure[k]]
    kept = 0
    for k in range(size):
        state = closure[k]
        if group[state] == 0 or rank[state] == least[group[state]]:
            closure[kept] = state
            kept += 1
    return kept


@kernel
def _determinise(
    num_nfa_states: int,
    nfa_start: int,
    epsilon_source: Ints,
    epsilon_target: Ints,
    source: Ints,
    low: Ints,
    high: Ints,
    target: Ints,
    accepting: Bools,
    num_symbols: int,
    accepts_all: int,
    group: Ints,
    rank: Ints,
    max_states: int,
    max_work: int,
) -> tuple[Ints, int, Ints, Ints, int]:
    useful = _mark_useful(epsilon_source, epsilon_target, source, target, accepting)
    epsilon_first, epsilon_order = grouped(epsilon_source, epsilon_source.shape[0], num_nfa_states)
    first, order = grouped(source, source.shape[0], num_nfa_states)

    num_sets = 1  # set 0 is the empty set, DEAD
    capacity = min(max_states, num_nfa_states) + 2
    next_state = np.zeros((capacity, num_symbols), np.int32)
    set_start = np.zeros(capacity + 1, np.int32)
    set_items = np.empty(2 * num_nfa_states + 16, np.int32)
    num_items = 0
    hashes = np.zeros(capacity, np.int32)
    slots = hash_slots(hashes, capacity, capacity, capacity)
    set_of_single = np.zeros(num_nfa_states, np.int32)  # the closure of one NFA state, once known

    # The (symbol, target) pairs of the state at hand are linked lists, one for each symbol touched,
    # that end with pair 0.
    num_pairs = 2
    for e in range(source.shape[0]):
        num_pairs += high[e] - low[e] + 1
    pair_target = np.empty(num_pairs, np.int32)
    pair_next = np.empty(num_pairs, np.int32)
    head = np.zeros(num_symbols, np.int32)
    touched = np.empty(num_symbols, np.int32)

    stamp = np.zeros(num_nfa_states, np.int32)
    now = 0
    stack = np.empty(num_nfa_states + 1, np.int32)
    closure = np.empty(num_nfa_states, np.int32)
    num_groups = 1
    for i in range(group.shape[0]):
        num_groups = max(num_groups, group[i] + 1)
    least = np.zeros(num_groups, np.int32)
    least_stamp = np.zeros(num_groups, np.int32)
    work = 0

    start_set = 0
    processed = 0  # sets below this have their row; set 0 stands for the seed of the start set
    while processed < num_sets:
        num_touched = 0
        if processed == 0:
            if not useful[nfa_start]:
                break
            touched[0] = 0
            num_touched = 1
            pair_target[1] = nfa_start
            pair_next[1] = 0
            head[0] = 1
        else:
            used = 1
            for i in range(set_start[processed], set_start[processed + 1]):
                for k in range(first[set_items[i]], first[set_items[i] + 1]):
                    e = order[k]
                    if not useful[target[e]]:
                        continue
                    for symbol in range(low[e], high[e] + 1):
                        if head[symbol] == 0:
                            touched[num_touched] = symbol
                            num_touched += 1
                        pair_target[used] = target[e]
                        pair_next[used] = head[symbol]
                        head[symbol] = used
                        used += 1
            work += used - 1
        previous = 0  # the list of the symbol before, and the set it led to
        found = 0
        for t in range(num_touched):
            symbol = touched[t]
            chain = head[symbol]
            head[symbol] = 0
            a, b = chain, previous
            while a != 0 and b != 0 and pair_target[a] == pair_target[b]:
                a, b = pair_next[a], pair_next[b]
            is_single = pair_next[chain] == 0
            if a == 0 and b == 0:
                pass  # the same targets as the symbol before: the same set
            elif is_single and set_of_single[pair_target[chain]] > 0:
                found = set_of_single[pair_target[chain]]
            else:
                now += 1
                size, num_steps = _close(
                    chain, pair_target, pair_next, now, stamp, stack, closure,
                    useful, accepting, first, epsilon_first, epsilon_order, epsilon_target,
                )  # fmt: skip
                if accepts_all >= 0 and stamp[accepts_all] == now:
                    size = 1
                    closure[0] = accepts_all
                work += num_steps
                if work > max_work:
                    return next_state, -1, set_start, set_items, num_sets
                if group.shape[0] > 0:
                    size = _keep_least(closure, size, group, rank, least, least_stamp, now)
                sort_small(closure, size)
                code = np.int64(size)
                for k in range(size):
                    code = (code ^ closure[k]) * np.int64(0x9E3779B97F4A7C1)
                    code ^= code >> 29
                code &= 0x7FFFFFFF
                if num_sets + 1 >= capacity:
                    capacity *= 2
                    next_state = grown_rows(next_state, capacity)
                    set_start = grown(set_start, capacity + 1)
                    hashes = grown(hashes, capacity)
                    slots = hash_slots(hashes, 1, num_sets, capacity)
                slot = code & (slots.shape[0] - 1)
                found = slots[slot]
                while found != 0 and not (
                    hashes[found] == code and _is_set(set_items, set_start, found, closure, size)
                ):
                    slot = (slot + 1) & (slots.shape[0] - 1)
                    found = slots[slot]
                if found == 0:
                    if num_sets > max_states:
                        return next_state, -1, set_start, set_items, num_sets
                    found = num_sets
                    num_sets += 1
                    while num_items + size > set_items.shape[0]:
                        set_items = grown(set_items, 2 * set_items.shape[0])
                    for k in range(size):
                        set_items[num_items + k] = closure[k]
                    num_items += size
                    set_start[found + 1] = num_items
                    hashes[found] = code
                    slots[slot] = found
                if is_single:
                    set_of_single[pair_target[chain]] = found
            previous = chain
            if processed == 0:
                start_set = found
            else:
                next_state[processed, symbol] = found
        processed += 1
    return next_state, start_set, set_start, set_items, num_sets
