"""ObjectFrame: an object whose keys come in order, with nothing counted, place by place.

Such an object is at place i before declared key i. Which keys are read there is a window on the
lexer of all keys, and where each leads is known from its label alone; so all places are told by
numbers, and none of them needs configs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammars.pushdown.configs import ObjectMember
from grammars.pushdown.layouts import Closing
from grammars.schema.plans import ObjectPlace

if TYPE_CHECKING:
    from grammars.pushdown.layouts import JsonContext, Layout
    from grammars.pushdown.member_lexers import MemberLexer, MemberLexers
    from grammars.schema.value import NodeId


@dataclass(frozen=True, slots=True, eq=False)
class ObjectFrame:
    """One object shape, compared by identity.

    Args:
        context: of the schema.
        layout: of the shape.
        shared: the lexer of its keys.
        windows: of each place, the bits of the labels that are read there.
        members: of each label, the node of the value and the place after it; None for the bracket.
        bracket: the bit of the closing bracket.
    """

    context: JsonContext
    layout: Layout[ObjectPlace]
    shared: MemberLexer
    windows: tuple[int, ...]
    members: tuple[tuple[NodeId, int] | None, ...]
    bracket: int

    def config(self, place: int, *, is_first: bool) -> ObjectMember:
        """What is expected at a place, as a config."""
        return ObjectMember(self.context, self.layout, ObjectPlace(place), is_first)


def find_object_frame(
    context: JsonContext, layout: Layout[ObjectPlace], lexers: MemberLexers
) -> ObjectFrame | None:
    """The frame of a layout; None where places have more to tell, or have lexers of their own."""
    entries = layout.in_order
    if entries is None:
        return None
    shared = lexers.find([ObjectMember(context, layout, layout.start, is_first=True)])
    if shared is None or any(len(items) > 1 for items in shared.lexer.items):
        return None
    num_declared = sum(isinstance(entry.key, str) for entry in entries)
    members: list[tuple[NodeId, int] | None] = [None] * len(shared.lexer.items)
    bracket = shared.labels[Closing.BRACKET]
    others, bits = bracket, [0] * num_declared
    for index, entry in enumerate(entries):
        bit = shared.labels[entry.key]
        if not (bit and context.graph.is_productive(entry.node)):
            continue
        members[bit.bit_length() - 1] = (entry.node, min(index + 1, num_declared))
        if index < num_declared:
            bits[index] = bit
        else:
            others |= bit
    windows = [others]
    for index in range(num_declared - 1, -1, -1):
        windows.append(bits[index] | (0 if entries[index].is_required else windows[-1]))
    return ObjectFrame(context, layout, shared, tuple(windows[::-1]), tuple(members), bracket)
