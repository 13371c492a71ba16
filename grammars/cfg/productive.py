"""productive: which rules have texts at all, as a least fixpoint."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from grammars.cfg.grouped import Grouped
from grammars.cfg.rule_nfa import START, RuleNfa, call_symbol, is_call, terminal_symbol
from grammars.safepoints import popped_keys, with_safepoints

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    texts_of = [_NO_TEXTS] * (2 * max(len(rules), len(is_empty_terminal)))  # by symbol
    for terminal, is_empty in enumerate(is_empty_terminal):
        if not is_empty:
            texts_of[terminal_symbol(terminal)] = _OTHER_TEXTS
    called: list[int] = []
    calling: list[int] = []
    for number, rule in with_safepoints(enumerate(rules)):
        for symbol in _symbols(rule):
            if is_call(symbol):
                called.append(symbol // 2)
                calling.append(number)
    callers = Grouped(called, calling, len(rules))
    pending = dict.fromkeys(range(len(rules)))  # what is called mostly comes later
    while pending:
        waiting, pending = pending, {}  # in rounds, so that who calls many is seldom looked at
        for number in popped_keys(waiting):
            rule = rules[number]
            if isinstance(rule, RuleNfa):
                texts = _texts_of_automaton(rule, texts_of)
            else:
                texts = _texts_of_sequence(rule, texts_of)
            if texts != texts_of[call_symbol(number)]:
                texts_of[call_symbol(number)] = texts
                for caller in callers[number]:
                    if caller not in waiting and not all(texts_of[call_symbol(caller)]):
                        pending[caller] = None
    return [texts_of[call_symbol(number)] for number in range(len(rules))]


def _symbols(rule: Rule) -> Iterable[Symbol]:
    if isinstance(rule, RuleNfa):
        return (edge.symbol for edge in rule.edges if edge.symbol is not None)
    return rule


def _texts_of_sequence(rule: RuleSequence, texts_of: Sequence[Texts]) -> Texts:
    is_nullable, is_productive = True, False
    for symbol in rule:
        has_empty, has_others = texts_of[symbol]
        if not (has_empty or has_others):
            return _NO_TEXTS
        is_nullable &= has_empty
        is_productive |= has_others
    return Texts(is_nullable, is_productive)


def _texts_of_automaton(rule: RuleNfa, texts_of: Sequence[Texts]) -> Texts:
    """Search the automaton for ways to its end, apart for those that have read something."""
    following: defaultdict[int, list[tuple[int, bool]]] = defaultdict(list)
    for edge in rule.edges:
        texts = _EMPTY_TEXT if edge.symbol is None else texts_of[edge.symbol]
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
