"""Object frames: an object in which nothing is counted, place by place.

What such an object reads at a place is a window on the lexer of all its keys, and where each key
leads is known from its label alone; so places are told by numbers, and none of them needs configs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from grammars.pushdown.configs import ObjectMember
from grammars.pushdown.layouts import Closing
from grammars.pushdown.member_lexers import bits_of
from grammars.schema.plans import ObjectPlace

if TYPE_CHECKING:
    from grammars.pushdown.layouts import JsonContext, Layout
    from grammars.pushdown.member_lexers import MemberLexer, MemberLexers
    from grammars.schema.object_entries import ObjectEntries
    from grammars.schema.value import NodeId


@dataclass(frozen=True, slots=True, eq=False)
class FrameKeys:
    """The keys of one object shape, and the labels that read them.

    Args:
        context: of the schema.
        layout: of the shape.
        shared: the lexer of its keys.
        labels: of each declared key, the label; None where it has no value.
        is_required: of each declared key.
        others: bits of the labels of undeclared keys.
        bracket: the bit of the closing bracket.
        members: of each label, the node of the value and which declared key it is, undeclared ones
            having the number after the last; None for the bracket.
    """

    context: JsonContext
    layout: Layout[ObjectPlace]
    shared: MemberLexer
    labels: tuple[int | None, ...]
    is_required: tuple[bool, ...]
    others: int
    bracket: int
    members: tuple[tuple[NodeId, int] | None, ...]

    def member(self, label: int) -> tuple[NodeId, int]:
        """What `members` says of a label that reads a key."""
        member = self.members[label - 1]
        assert member is not None, "the bracket has an action from the start"
        return member

    def config(self, place: ObjectPlace, *, is_first: bool) -> ObjectMember:
        """What is expected at a place."""
        return ObjectMember(self.context, self.layout, place, is_first)


class OrderedFrame:
    """An object whose keys come in order; place i is before declared key i.

    Args:
        keys: its keys.
    """

    shares_actions: ClassVar = True
    """A key leads to the same place from all others."""

    def __init__(self, keys: FrameKeys) -> None:
        self.keys = keys
        num_declared = len(keys.labels)
        self._ends = [num_declared + 1] * (num_declared + 1)  # of places: up to a required key
        for index in range(num_declared - 1, -1, -1):
            is_required = keys.is_required[index]
            self._ends[index] = index + 1 if is_required else self._ends[index + 1]

    def window(self, place: int) -> int:
        """Bits of the labels that are read at a place."""
        end = self._ends[place]
        bits = bits_of(label for label in self.keys.labels[place:end] if label is not None)
        is_last = end > len(self.keys.labels)
        return bits | self.keys.others | self.keys.bracket if is_last else bits

    def after(self, _: int, key: int) -> int:
        """The place after the value of a key."""
        return min(key + 1, len(self.keys.labels))

    def config(self, place: int, *, is_first: bool) -> ObjectMember:
        """What is expected at a place, as a config."""
        return self.keys.config(ObjectPlace(index=place), is_first=is_first)

    def number(self, place: ObjectPlace) -> int:
        """The place of a config."""
        return place.index


class UnorderedFrame:
    """An object whose keys come in any order; a place is the bits of the declared keys written.

    Args:
        keys: its keys.
    """

    shares_actions: ClassVar = False

    def __init__(self, keys: FrameKeys) -> None:
        self.keys = keys
        self._bits = [0 if label is None else 1 << label - 1 for label in keys.labels]
        self._all = bits_of(label for label in keys.labels if label is not None) | keys.others
        self._required = bits_of(i for i, needed in enumerate(keys.is_required, 1) if needed)

    def window(self, place: int) -> int:
        """Bits of the labels that are read at a place."""
        bits, left = self._all, place
        while left:
            lowest = left & -left
            bits &= ~self._bits[lowest.bit_length() - 1]
            left ^= lowest
        return bits if self._required & ~place else bits | self.keys.bracket

    def after(self, place: int, key: int) -> int:
        """The place after the value of a key."""
        return place | 1 << key if key < len(self.keys.labels) else place

    def config(self, place: int, *, is_first: bool) -> ObjectMember:
        """What is expected at a place, as a config."""
        return self.keys.config(ObjectPlace(written=place), is_first=is_first)

    def number(self, place: ObjectPlace) -> int:
        """The place of a config."""
        return place.written


ObjectFrame: TypeAlias = OrderedFrame | UnorderedFrame


def find_object_frame(
    context: JsonContext, layout: Layout[ObjectPlace], lexers: MemberLexers
) -> ObjectFrame | None:
    """The frame of a layout; None where places have more to tell, or have lexers of their own."""
    entries = layout.plain_keys
    if entries is None:
        return None
    shared = lexers.find([ObjectMember(context, layout, layout.start, is_first=True)])
    if shared is None or any(len(items) > 1 for items in shared.lexer.items):
        return None
    keys = _frame_keys(context, layout, shared, entries)
    return OrderedFrame(keys) if layout.is_ordered else UnorderedFrame(keys)


def _frame_keys(
    context: JsonContext,
    layout: Layout[ObjectPlace],
    shared: MemberLexer,
    entries: ObjectEntries,
) -> FrameKeys:
    members: list[tuple[NodeId, int] | None] = [None] * len(shared.lexer.items)
    num_declared = len(entries.declared)
    labels: list[int | None] = []
    for index, entry in enumerate((*entries.declared, *entries.groups)):
        label = next(iter(shared.labels[entry.key]), None)
        if label is not None and context.graph.is_productive(entry.node):
            members[label - 1] = (entry.node, min(index, num_declared))
            labels.append(label)
        else:
            labels.append(None)
    return FrameKeys(
        context,
        layout,
        shared,
        tuple(labels[:num_declared]),
        tuple(entries.is_required),
        bits_of(label for label in labels[num_declared:] if label is not None),
        shared.window([Closing.BRACKET]),
        tuple(members),
    )
