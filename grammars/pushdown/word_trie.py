"""word_trie: words and keys as an automaton, in one kernel: their trie is deterministic as it is.

Inside an object with undeclared keys, where a text leaves the trie of the declared ones it goes on
as any key does; so these nodes take what they lack from the automaton of any key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grammars.automata.kernels import helper, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.kernels import Bools, Ints

Bytes: TypeAlias = "NDArray[np.uint8]"
Classes: TypeAlias = "NDArray[np.uint16]"

NO_ITEM = -1
"""The item of a word that is a declared key, not read."""

_ROOT = 1
_QUOTE, _COMMA, _COLON, _BRACKET = 34, 44, 58, 125


@kernel
def word_trie(
    text: Bytes,
    ends: Ints,
    items: Ints,
    is_member: Bools,
    has_gap: Bools,
    gap: int,
    member_gap: int,
    follows: bool,
    has_first: bool,
    other_item: int,
    any_next: Ints,
    any_class: Classes,
    any_start: int,
    any_end: int,
) -> tuple[Classes, Ints, Ints]:
    """The automaton that reads each word under the label 1 + its item; its start is state 1.

    Args:
        text: uint8, the words one after the other; of a member, the key as a JSON string.
        ends: int32, (num_words,); where each ends in `text`.
        items: int32, (num_words,); NO_ITEM for a declared key that is not read.
        is_member: bool, (num_words,); whether a colon comes after, and perhaps a comma before.
        has_gap: bool, (num_words,); whether a gap may come after.
        gap: the byte that may come after a word; 0 where none may.
        member_gap: the same byte where it may come before and after members; else 0.
        follows: whether members come after a comma and perhaps a gap.
        has_first: whether the last state is a second start, of members without the comma.
        other_item: of the keys that are no word's; NO_ITEM where there are none.
        any_next: int32, (num_states, num_classes); the automaton of any key as a JSON string.
        any_class: uint16, (256,); its symbol classes.
        any_start: its state before the quote.
        any_end: its state after the last quote.

    Returns:
        uint16, (256,), the symbol classes; int32, (num_states, num_classes), no states at all where
        two items end alike, a gap could be a word, or a key is not written as any key; int32,
        (num_states,), the labels.
    """
    symbol_class, num_classes = _classes(text, gap, follows, other_item, any_class)
    num_words = ends.shape[0]
    num_any = any_next.shape[0] if other_item >= 0 else 0
    table = np.zeros((text.shape[0] + 2 * num_words + num_any + 9, num_classes), np.int32)
    label = np.zeros(table.shape[0], np.int32)
    inside = np.zeros(table.shape[0], np.int32)  # the state of any key that a node is in
    is_whole = np.zeros(
        table.shape[0], np.bool_
    )  # nodes from which the last quote would end a declared key
    failure = symbol_class, np.zeros((0, 0), np.int32), label
    gap_class = int(symbol_class[gap])
    used = int(np.int64(_ROOT + 1))
    comma = member = _ROOT
    if follows:
        comma = used
        table[_ROOT, symbol_class[_COMMA]] = comma
        used += 1
        member = comma
        if member_gap != 0:
            member = used
            table[comma, gap_class] = member
            used += 1
    begin = 0
    for word in range(num_words):
        node = member if is_member[word] else _ROOT
        state = any_start
        for i in range(begin, ends[word]):
            if is_member[word] and other_item >= 0:
                after = any_next[state, any_class[text[i]]]
                if i == ends[word] - 1:
                    is_whole[node] = True
                    if after != any_end:
                        return failure
                    if items[word] < 0:
                        break
                    after = 0
                state = after
            used = _extend(table, node, symbol_class[text[i]], used)
            node = table[node, symbol_class[text[i]]]
            inside[node] = state if is_member[word] and other_item >= 0 else 0
        begin = ends[word]
        if items[word] >= 0:
            if is_member[word]:
                used = _extend(table, node, symbol_class[_COLON], used)
                node = table[node, symbol_class[_COLON]]
            used = _accept(table, label, node, items[word], gap_class if has_gap[word] else 0, used)
            if used == 0:
                return failure
    if other_item >= 0:
        used = _add_others(
            table, label, symbol_class, gap_class if member_gap != 0 else 0, other_item, used,
            inside, is_whole, any_next, any_class, any_start, any_end,
        )  # fmt: skip
    if follows and member_gap != 0:  # the gap after a comma may be left out
        for column in range(1, num_classes):
            if table[member, column] != 0:
                if table[comma, column] != 0:
                    return failure
                table[comma, column] = table[member, column]
    if has_first:
        table[used, symbol_class[_BRACKET]] = table[_ROOT, symbol_class[_BRACKET]]
        table[used, symbol_class[_QUOTE]] = table[comma, symbol_class[_QUOTE]]
        used += 1
    return symbol_class, table[:used].copy(), label[:used].copy()


@helper
def _classes(
    text: Bytes, gap: int, follows: bool, other_item: int, any_class: Classes
) -> tuple[Classes, int]:
    """A class for each byte of the words; for the others, the classes that any key has of them."""
    is_used = np.zeros(256, np.bool_)
    for byte in text:
        is_used[byte] = True
    is_used[_COLON] = True
    is_used[_COMMA] |= follows
    is_used[gap] |= gap != 0
    symbol_class = np.zeros(256, np.uint16)
    class_of = np.zeros(257, np.uint16)  # of the classes of any key
    num_classes = 1
    for byte in range(256):
        if is_used[byte]:
            symbol_class[byte] = num_classes
            num_classes += 1
        elif other_item >= 0 and any_class[byte] != 0:
            if class_of[any_class[byte]] == 0:
                class_of[any_class[byte]] = num_classes
                num_classes += 1
            symbol_class[byte] = class_of[any_class[byte]]
    return symbol_class, num_classes


@helper
def _extend(table: Ints, node: int, column: int, used: int) -> int:
    """Make the child of a node where it has none; the nodes used then."""
    if table[node, column] != 0:
        return used
    table[node, column] = used
    return used + 1


@helper
def _accept(table: Ints, label: Ints, node: int, item: int, gap_class: int, used: int) -> int:
    """Let an item end at a node and after a gap; the nodes used, 0 where another ends there."""
    if label[node] != 0:
        return 0
    label[node] = item + 1
    if gap_class != 0:
        used = _extend(table, node, gap_class, used)
        if label[table[node, gap_class]] != 0:
            return 0
        label[table[node, gap_class]] = item + 1
    return used


@helper
def _add_others(
    table: Ints, label: Ints, symbol_class: Classes, gap_class: int, item: int, used: int,
    inside: Ints, is_whole: Bools,
    any_next: Ints, any_class: Classes, any_start: int, any_end: int,
) -> int:  # fmt: skip
    """Let an item read all keys but the words, from where a text leaves them; the nodes used."""
    num_trie = used
    node_of = np.zeros(any_next.shape[0], np.int32)
    for state in range(1, any_next.shape[0]):
        if state != any_start:
            node_of[state] = used
            inside[used] = 0 if state == any_end else state
            used += 1
    after = node_of[any_end]
    used = _extend(table, after, symbol_class[_COLON], used)
    colon = table[after, symbol_class[_COLON]]
    label[colon] = item + 1
    if gap_class != 0:
        used = _extend(table, colon, gap_class, used)
        label[table[colon, gap_class]] = item + 1
    first_byte = np.zeros(table.shape[1], np.int32)  # of each class but 0
    for byte in range(255, -1, -1):
        first_byte[symbol_class[byte]] = byte
    for node in range(1, num_trie + any_next.shape[0]):
        if inside[node] != 0:
            for column in range(1, table.shape[1]):
                byte = first_byte[column]
                if table[node, column] == 0 and not (is_whole[node] and byte == _QUOTE):
                    table[node, column] = node_of[any_next[inside[node], any_class[byte]]]
    return used
