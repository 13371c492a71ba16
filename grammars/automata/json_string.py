"""JSON strings (RFC 8259, section 7): a language of decoded content, spelled in bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from grammars.automata.classes import build_dfa
from grammars.automata.codepoint_dfa import (
    DEFAULT_MAX_STATES,
    any_string,
    build_codepoint_dfa,
)
from grammars.automata.dfa import DEAD
from grammars.automata.json_spelling import QUOTE, spelling_tree
from grammars.automata.kernels import grown, grown_rows, hash_slots, helper, kernel
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from grammars.automata.codepoint_dfa import CodePointDfa
    from grammars.automata.dfa import Dfa
    from grammars.automata.kernels import Bools, Ints

Spelling: TypeAlias = Literal["canonical", "any"]
r"""canonical: raw UTF-8 wherever it is allowed, the two-character escapes where they exist (all but
`\/`), and `\u00XX`, its digits in either case, for the other control characters.
any: every spelling that RFC 8259 allows of the same content; lone surrogate escapes never.
"""


def json_string(
    content: CodePointDfa,
    spelling: Spelling = "canonical",
    *,
    max_states: int = DEFAULT_MAX_STATES,
) -> Dfa:
    """The JSON strings whose decoded content is in `content`, quotes included.

    Only well-formed UTF-8 (RFC 3629) is accepted, raw control characters never. Label 1;
    `char_boundary` is True between two characters of the content (after the opening quote, not
    after the closing one). Minimal, because `content` is: each of its states is one boundary
    state, and equal states within a character are made once.

    Raises:
        LimitExceededError: it needs more than `max_states` states.
    """
    table, atom_of_byte = spell_content(
        content, spelling, max_states=max_states, what="a JSON string"
    )
    num_states = table.shape[0]
    num_content = content.num_states
    label = np.zeros(num_states, np.int32)
    boundary = np.zeros(num_states, np.bool_)
    if content.is_empty:
        return build_dfa(table, atom_of_byte, label, DEAD, boundary)
    label[num_content + 1] = 1
    boundary[1:num_content] = True
    return build_dfa(table, atom_of_byte, label, num_content, boundary)


def json_string_tail(content: CodePointDfa, *, max_states: int = DEFAULT_MAX_STATES) -> Dfa:
    """The canonical strings of a content without their opening quotes.

    Args:
        content: not empty; it may have states that are not reached.
        max_states: states of the result at most.

    Returns:
        As `json_string` does; it begins at a character boundary.

    Raises:
        LimitExceededError: it needs more than `max_states` states.
    """
    content = build_codepoint_dfa(
        content.range_start,
        content.range_class,
        content.next_state,
        content.start,
        content.accepting,
    )
    table, atom_of_byte = spell_content(
        content, "canonical", max_states=max_states, what="a JSON string"
    )
    before, end = content.num_states, content.num_states  # the state that is left out, the last one
    table = np.delete(table, before, 0)
    label = np.zeros(table.shape[0], np.int32)
    label[end] = 1
    boundary = np.zeros(table.shape[0], np.bool_)
    boundary[1 : content.num_states] = True
    return build_dfa(table - (table > before), atom_of_byte, label, content.start, boundary)


def spell_content(
    content: CodePointDfa, spelling: Spelling, *, max_states: int, what: str
) -> tuple[Ints, Ints]:
    """The table over bytes of the strings with their quotes.

    Args:
        content: over decoded code points.
        spelling: how they are spelled.
        max_states: states of the result at most.
        what: is spelled, for the error.

    Returns:
        int32, (num_states, num_atoms), and the atom of each byte, int32, (256,). The states of
        `content` keep their numbers; then come the one before the opening quote, the one after the
        closing quote, and those within characters.

    Raises:
        LimitExceededError: it needs more than `max_states` states.
    """
    tree = spelling_tree(
        content.range_start, content.range_class, is_canonical=spelling == "canonical"
    )
    table, atom_of_byte = _spell(
        *tree, content.next_state, content.accepting, content.start, max_states
    )
    if table.shape[0] == 0:
        raise LimitExceededError("max_states", max_states, what)
    return table, atom_of_byte


@lru_cache(maxsize=2)
def any_json_string(spelling: Spelling = "any") -> Dfa:
    """Every JSON string; the one object is shared, so that it can be compared by identity."""
    return json_string(any_string(), spelling)


@helper
def _is_row(table: Ints, state: int, row: Ints, hash_agrees: bool) -> bool:
    """Whether the state's row is `row`."""
    if not hash_agrees:
        return False
    for a in range(row.shape[0]):  # noqa: SIM110 - numba has no all()
        if table[state, a] != row[a]:
            return False
    return True


@kernel
def _spell(
    order: Ints,
    edge_start: Ints,
    low: Ints,
    high: Ints,
    target: Ints,
    next_state: Ints,
    accepting: Bools,
    start: int,
    max_states: int,
) -> tuple[Ints, Ints]:
    """The byte table: one copy of the spelling tree for each content state, equal nodes shared.

    Content state s keeps its number. Returns the table over atoms of bytes (no rows: too many
    states) and the atom of each byte.
    """
    # Atoms: the maximal runs of bytes that no edge tells apart.
    is_first = np.zeros(257, np.int32)
    is_first[QUOTE] = 1
    is_first[QUOTE + 1] = 1
    for e in range(low.shape[0]):
        is_first[low[e]] = 1
        is_first[high[e] + 1] = 1
    atom_of_byte = np.empty(256, np.int32)
    atom = 0
    for b in range(256):
        atom += is_first[b]
        atom_of_byte[b] = atom
    num_atoms = atom + 1

    num_content = next_state.shape[0]
    if start == DEAD:
        return np.zeros((1, num_atoms), np.int32), atom_of_byte
    num_states = num_content + 2
    capacity = num_states + 2 * order.shape[0]
    if num_states > max_states:
        return np.zeros((0, num_atoms), np.int32), atom_of_byte
    table = np.zeros((capacity, num_atoms), np.int32)
    table[num_content, atom_of_byte[QUOTE]] = start
    hashes = np.zeros(capacity, np.int32)
    slots = hash_slots(hashes, capacity, capacity, capacity)  # the states within a character
    state_of_node = np.zeros(order.shape[0], np.int32)
    goals = np.zeros(target.shape[0], np.int32)  # where each edge leads, for the state at hand
    row = np.zeros(num_atoms, np.int32)
    for s in range(1, num_content):
        if accepting[s]:
            table[s, atom_of_byte[QUOTE]] = num_content + 1
        for node in order:
            is_same = s > 1
            is_alive = False
            for e in range(edge_start[node], edge_start[node + 1]):
                symbol = target[e]
                goal = next_state[s, symbol] if symbol > 0 else state_of_node[-symbol]
                is_same = is_same and goal == goals[e]
                is_alive = is_alive or goal != DEAD
                goals[e] = goal
            if is_same and node != 0:
                continue  # all edges lead where they led for the content state before
            code = np.int64(0)
            for e in range(edge_start[node], edge_start[node + 1]):
                goal = goals[e]
                if goal == DEAD:
                    continue
                for a in range(atom_of_byte[low[e]], atom_of_byte[high[e]] + 1):
                    row[a] = goal
                    code += np.int64(goal + 1) * ((a + 1) * np.int64(0x9E3779B97F4A7C1))
            code = (code ^ code >> 31) & 0x7FFFFFFF
            found = DEAD
            if node == 0:
                for a in range(num_atoms):
                    if row[a] != DEAD:
                        table[s, a] = row[a]
            elif is_alive:
                if num_states == capacity:
                    capacity *= 2
                    table = grown_rows(table, capacity)
                    hashes = grown(hashes, capacity)
                    slots = hash_slots(hashes, num_content + 2, num_states, capacity)
                slot = code & (slots.shape[0] - 1)
                found = slots[slot]
                while found != 0 and not _is_row(table, found, row, hashes[found] == code):
                    slot = (slot + 1) & (slots.shape[0] - 1)
                    found = slots[slot]
                if found == 0:
                    if num_states > max_states:
                        return np.zeros((0, num_atoms), np.int32), atom_of_byte
                    found = num_states
                    num_states += 1
                    slots[slot] = found
                    hashes[found] = code
                    for a in range(num_atoms):
                        table[found, a] = row[a]
            for e in range(edge_start[node], edge_start[node + 1]):
                for a in range(atom_of_byte[low[e]], atom_of_byte[high[e]] + 1):
                    row[a] = 0
            state_of_node[node] = found
    return table[:num_states].copy(), atom_of_byte
