"""Calls of rules from one place in a text, and where they return to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grammars.cfg.items import END, Item

if TYPE_CHECKING:
    from grammars.cfg.items import FrameId


@dataclass(slots=True)
class Calls:
    """Calls of rules from one place in the text.

    Args:
        returns: rule -> the items after its calls.
        inherited: rule -> rules whose returns are its own too, since they end where it does.
    """

    returns: dict[int, set[Item]] = field(default_factory=dict)
    inherited: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def inherit(self) -> None:
        """Add what is inherited to the returns."""
        pending = dict.fromkeys(self.inherited)
        heirs: defaultdict[int, set[int]] = defaultdict(set)
        for rule, givers in self.inherited.items():
            for giver in givers:
                heirs[giver].add(rule)
        while pending:
            rule, _ = pending.popitem()
            before = len(self.returns[rule])
            for giver in self.inherited[rule]:
                self.returns[rule] |= self.returns[giver]
            if len(self.returns[rule]) > before:
                pending |= dict.fromkeys(heirs[rule])


def new_frame(rule: int) -> FrameId:
    """What stands for the new frame of a rule until that is known."""
    return -2 - rule


def rule_of_new(frame: FrameId) -> int:
    """The rule that a frame which is not known yet belongs to."""
    return -2 - frame


def resolved(item: Item, frames: dict[int, FrameId]) -> Item:
    """The item with its frame in place of what stands for it, if that is known."""
    if item == END or item.frame >= 0:
        return item
    return Item(item.position, frames.get(rule_of_new(item.frame), item.frame))
