"""read_content: which tokens can be read inside strings, and which may go on behind their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.content_bytes import after_byte
from grammars.automata.dfa import DEAD, NUM_BYTES
from grammars.automata.json_spelling import QUOTE
from grammars.automata.kernels import grown, kernel
from grammars.masks.trie import DEPTH_SHIFT, FIRST_TOKEN, PLACE, SUBTREE_END, SYMBOL_MASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grammars.automata.kernels import Bools, Ints
    from grammars.masks.string_places import StringPlace
    from grammars.masks.trie import Trie


NO_PLACES: Final = np.zeros((0, 2), np.int32)


def read_content(
    trie: Trie,
    node: int,
    strings: Sequence[StringPlace],
    row: NDArray[np.uint32],
    places: Sequence[Ints] | None = None,
) -> list[list[int]]:
    """Set in `row` the bits of the tokens below a node that end inside of strings.

    Args:
        trie: of the tokens.
        node: in it, where the text is in the strings.
        strings: where it is in each of them.
        row: uint32, (num_words,); bits are added.
        places: for each string, see `sort_by_content`; None where nobody asks.

    Returns:
        The nodes at which strings end, those together at which the same ones do.
    """
    ended: dict[int, int] = {}  # node -> bits of the strings that end there
    for number, (_, content, place) in enumerate(strings):
        if place.state != DEAD:
            noted = NO_PLACES if places is None else places[number]
            exits = sort_by_content(
                trie.nodes, trie.token_ids, node, place.state, place.node, row, noted, *content
            )
            for leaving in exits.tolist():
                ended[leaving] = ended.get(leaving, 0) | 1 << number
    groups: dict[int, list[int]] = {}
    for leaving, strings_there in ended.items():
        groups.setdefault(strings_there, []).append(leaving)
    return list(groups.values())


@kernel
def sort_by_content(
    nodes: Ints,
    token_ids: Ints,
    top: int,
    state: int,
    spelled: int,
    row: NDArray[np.uint32],
    places: Ints,
    edge_first: Ints,
    edge_symbol: Ints,
    edge_target: Ints,
    accepting: Bools,
    node_first: Ints,
    low: Ints,
    high: Ints,
    target: Ints,
    spells: Bools,
) -> Ints:
    """Set in `row` the bit of every token below a node of a trie that ends inside the string.

    Args:
        nodes: see `Trie`.
        token_ids: see there.
        top: the node; its own tokens are not looked at.
        state: of the content there, see `ContentPlace`; not DEAD.
        spelled: its node there.
        row: the bitmask; bits are added.
        places: int32, (padded_size, 2), or of no length: set to the `ContentPlace` that each of
            these tokens leads to.
        edge_first: this and the following are the fields of `ContentBytes`.
        edge_symbol: see there.
        edge_target: see there.
        accepting: see there.
        node_first: see there.
        low: see there.
        high: see there.
        target: see there.
        spells: see there.

    Returns:
        int32; the nodes with whose symbol, a quote, the string ends.
    """
    level = nodes[top, PLACE] >> DEPTH_SHIFT
    past = nodes[top, SUBTREE_END]
    depth = 0
    for node in range(top, past):
        depth = max(depth, (nodes[node, PLACE] >> DEPTH_SHIFT) - level)
    states = np.zeros(depth + 1, np.int32)
    spelled_at = np.zeros(depth + 1, np.int32)
    states[0], spelled_at[0] = state, spelled
    exits = np.zeros(64, np.int32)
    num_exits = 0
    node = top + 1
    while node < past:
        symbol = nodes[node, PLACE] & SYMBOL_MASK
        depth = (nodes[node, PLACE] >> DEPTH_SHIFT) - level
        before, within = states[depth - 1], spelled_at[depth - 1]
        after = DEAD
        if symbol == QUOTE and within == 0:
            if accepting[before]:
                if num_exits == len(exits):
                    exits = grown(exits, 2 * num_exits)
                exits[num_exits] = node
                num_exits += 1
        elif symbol < NUM_BYTES:
            after, within = after_byte(
                symbol, before, within, edge_first, edge_symbol, edge_target, node_first, low, high,
                target, spells,
            )  # fmt: skip
        if after == DEAD:
            node = nodes[node, SUBTREE_END]
            continue
        states[depth], spelled_at[depth] = after, within
        for i in range(nodes[node, FIRST_TOKEN], nodes[node + 1, FIRST_TOKEN]):
            token_id = token_ids[i]
            row[token_id >> 5] |= np.uint32(1) << np.uint32(token_id & 31)
            if len(places) > 0:
                places[token_id, 0], places[token_id, 1] = after, within
        node += 1
    return exits[:num_exits].copy()
