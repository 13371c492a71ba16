"""Calls of rules from one place in a text, and where they return to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from grammars.cfg.items import END, Item

if TYPE_CHECKING:
    from collections.abc import Collection

    from grammars.cfg.items import FrameId
    from grammars.work import Work

ITEMS_COPIED: Final = 16
"""Items that are added to a set in the time in which one is looked at."""


@dataclass(slots=True)
class Calls:
    """Calls of rules from one place in the text.

    Args:
        rules: those that are called, in the order of their first calls.
        returns: rule -> the items after its calls.
        inherited: rule -> rules whose returns are its own too, since they end where it does.
        num_items: of all returns.
    """

    rules: list[int] = field(default_factory=list)
    returns: dict[int, set[Item]] = field(default_factory=dict)
    inherited: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    num_items: int = 0

    def add(self, rule: int, returns: Collection[Item]) -> None:
        """Note a call of a rule, after which these items follow."""
        known = self.returns.get(rule)
        if known is None:
            known = self.returns[rule] = set()
            self.rules.append(rule)
        self.num_items -= len(known)
        known.update(returns)
        self.num_items += len(known)

    def share(self) -> dict[int, int]:
        """Take out the rules whose returns are those of one other rule, as of all its options.

        Returns:
            Each of them -> the other rule, which has the frame of both.
        """
        giver_of = {
            rule: giver
            for rule, givers in self.inherited.items()
            if len(givers) == 1 and not self.returns[rule]
            for giver in givers
        }
        shared = {rule: _last(rule, giver_of) for rule in giver_of}
        for rule in shared:
            del self.returns[rule], self.inherited[rule]
        if shared:
            for rule, givers in self.inherited.items():
                self.inherited[rule] = {shared.get(giver, giver) for giver in givers}
            for rule, returns in self.returns.items():
                self.returns[rule] = {_with_shared(item, shared) for item in returns}
            self.num_items = sum(map(len, self.returns.values()))
        return shared

    def inherit(self, max_items: int, work: Work) -> None:
        """Add what is inherited to the returns, until they are more than `max_items`.

        Raises:
            LimitExceededError: there is too much to add, see `Work`.
        """
        pending = dict.fromkeys(self.inherited)
        heirs: defaultdict[int, set[int]] = defaultdict(set)
        for rule, givers in self.inherited.items():
            for giver in givers:
                heirs[giver].add(rule)
        while pending and self.num_items <= max_items:
            rule, _ = pending.popitem()
            before = len(self.returns[rule])
            for giver in self.inherited[rule]:
                work.spend(1 + len(self.returns[giver]) // ITEMS_COPIED)
                self.add(rule, self.returns[giver])
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


def _last(rule: int, giver_of: dict[int, int]) -> int:
    """The rule at the end of a chain, which has returns of its own: something calls it first."""
    while rule in giver_of:
        rule = giver_of[rule]
    return rule


def _with_shared(item: Item, shared: dict[int, int]) -> Item:
    """The item with the frame of the rule that has its own."""
    if item == END or item.frame >= 0:
        return item
    rule = rule_of_new(item.frame)
    return Item(item.position, new_frame(shared.get(rule, rule)))
