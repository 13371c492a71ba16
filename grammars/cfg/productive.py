"""productive: which rules have texts at all, as a least fixpoint."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from grammars.cfg.rule_nfa import START, is_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grammars.cfg.rule_nfa import RuleNfa


class Texts(NamedTuple):
    """What texts a rule has.

    Args:
        is_nullable: the empty one.
        is_productive: any other, of finite length.
    """

    is_nullable: bool
    is_productive: bool


def find_texts(rules: Sequence[RuleNfa], is_empty_terminal: Sequence[bool]) -> list[Texts]:
    """What texts each rule has; a rule is looked at again when one that it calls has gained some.

    Args:
        rules: their automata.
        is_empty_terminal: by terminal, whether it has no text.
    """
    callers: defaultdict[int, list[int]] = defaultdict(list)
    for number, rule in enumerate(rules):
        for edge in rule.edges:
            if edge.symbol is not None and is_call(edge.symbol):
                callers[edge.symbol // 2].append(number)
    found = [Texts(is_nullable=False, is_productive=False)] * len(rules)
    pending = dict.fromkeys(range(len(rules)))  # what is called mostly comes later
    while pending:
        waiting, pending = pending, {}  # in rounds, so that who calls many is seldom looked at
        while waiting:
            number, _ = waiting.popitem()
            texts = _texts(rules[number], found, is_empty_terminal)
            if texts != found[number]:
                found[number] = texts
                again = (caller for caller in callers[number] if caller not in waiting)
                pending |= dict.fromkeys(caller for caller in again if not all(found[caller]))
    return found


def _texts(rule: RuleNfa, found: list[Texts], is_empty_terminal: Sequence[bool]) -> Texts:
    """Search the automaton for ways to its end, apart for those that have read something."""
    following: defaultdict[int, list[tuple[int, bool]]] = defaultdict(list)
    for edge in rule.edges:
        if edge.symbol is None:
            texts = Texts(is_nullable=True, is_productive=False)
        elif is_call(edge.symbol):
            texts = found[edge.symbol // 2]
        else:
            texts = Texts(is_nullable=False, is_productive=not is_empty_terminal[edge.symbol // 2])
        if texts.is_nullable:
            following[edge.source].append((edge.target, False))
        if texts.is_productive:
            following[edge.source].append((edge.target, True))
    pending = [(START, False)]
    seen = set(pending)
    while pending:
        state, has_read = pending.pop()
        for target, reads in following[state]:
            place = (target, has_read or reads)
            if place not in seen:
                seen.add(place)
                pending.append(place)
    return Texts((rule.end, False) in seen, (rule.end, True) in seen)
