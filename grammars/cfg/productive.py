"""productive: which rules have texts at all, as a least fixpoint."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from grammars.cfg.rule_nfa import START, RuleNfa, is_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from grammars.cfg.rule_nfa import Symbol
    from grammars.cfg.sequences import Rule, RuleSequence


class Texts(NamedTuple):
    """What texts a rule has.

    Args:
        is_nullable: the empty one.
        is_productive: any other, of finite length.
    """

    is_nullable: bool
    is_productive: bool


_NO_TEXTS: Final = Texts(is_nullable=False, is_productive=False)
_EMPTY_TEXT: Final = Texts(is_nullable=True, is_productive=False)
_OTHER_TEXTS: Final = Texts(is_nullable=False, is_productive=True)


def find_texts(rules: Sequence[Rule], is_empty_terminal: Sequence[bool]) -> list[Texts]:
    """What texts each rule has; a rule is looked at again when one that it calls has gained some.

    Args:
        rules: by number.
        is_empty_terminal: by terminal, whether it has no text.
    """
    of_terminals = [_NO_TEXTS if is_empty else _OTHER_TEXTS for is_empty in is_empty_terminal]
    of_rules = [_NO_TEXTS] * len(rules)

    def texts_of(symbol: Symbol) -> Texts:
        return of_rules[symbol // 2] if is_call(symbol) else of_terminals[symbol // 2]

    callers: defaultdict[int, list[int]] = defaultdict(list)
    for number, rule in enumerate(rules):
        for symbol in _symbols(rule):
            if is_call(symbol):
                callers[symbol // 2].append(number)
    pending = dict.fromkeys(range(len(rules)))  # what is called mostly comes later
    while pending:
        waiting, pending = pending, {}  # in rounds, so that who calls many is seldom looked at
        while waiting:
            number, _ = waiting.popitem()
            rule = rules[number]
            if isinstance(rule, RuleNfa):
                texts = _texts_of_automaton(rule, texts_of)
            else:
                texts = _texts_of_sequence(rule, texts_of)
            if texts != of_rules[number]:
                of_rules[number] = texts
                again = (caller for caller in callers[number] if caller not in waiting)
                pending |= dict.fromkeys(caller for caller in again if not all(of_rules[caller]))
    return of_rules


def _symbols(rule: Rule) -> Iterable[Symbol]:
    if isinstance(rule, RuleNfa):
        return (edge.symbol for edge in rule.edges if edge.symbol is not None)
    return rule


def _texts_of_sequence(rule: RuleSequence, texts_of: Callable[[Symbol], Texts]) -> Texts:
    is_nullable, is_productive = True, False
    for symbol in rule:
        texts = texts_of(symbol)
        if not any(texts):
            return _NO_TEXTS
        is_nullable &= texts.is_nullable
        is_productive |= texts.is_productive
    return Texts(is_nullable, is_productive)


def _texts_of_automaton(rule: RuleNfa, texts_of: Callable[[Symbol], Texts]) -> Texts:
    """Search the automaton for ways to its end, apart for those that have read something."""
    following: defaultdict[int, list[tuple[int, bool]]] = defaultdict(list)
    for edge in rule.edges:
        texts = _EMPTY_TEXT if edge.symbol is None else texts_of(edge.symbol)
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
