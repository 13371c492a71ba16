"""Sequences: rules that are texts and calls one after the other, with no choice between them.

Large grammars mostly consist of them. They need no automaton until it is known that one of their
calls may be empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from grammars.cfg.rule_nfa import Edge, call_symbol, terminal_symbol
from grammars.cfg.syntax import Reference, Series, Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.cfg.rule_nfa import RuleNfa, Symbol
    from grammars.cfg.syntax import Expression

RuleSequence: TypeAlias = "tuple[Symbol, ...]"
"""The symbols of a rule in order; no text among them may be empty."""

Rule: TypeAlias = "RuleSequence | RuleNfa"
"""A rule over symbols."""


def find_sequence(
    expression: Expression,
    terminal: Callable[[Text], tuple[int, bool]],
    rule: Callable[[Reference], int],
) -> RuleSequence | None:
    """The symbols of a rule; None where it is no sequence.

    Args:
        expression: the rule.
        terminal: number of a text, and whether it may be empty.
        rule: number of a rule's name.
    """
    symbols: list[Symbol] = []
    pending = [expression]
    while pending:
        match pending.pop():
            case Text() as text:
                number, is_nullable = terminal(text)
                if is_nullable:
                    return None
                symbols.append(terminal_symbol(number))
            case Reference() as reference:
                symbols.append(call_symbol(rule(reference)))
            case Series(parts):
                pending.extend(reversed(parts))
            case _:
                return None
    return tuple(symbols)


def sequence_edges(sequence: RuleSequence) -> list[Edge]:
    """The edges of a sequence as those of a `RuleNfa`, whose states are numbered along it."""
    return [Edge(place, symbol, place + 1) for place, symbol in enumerate(sequence)]
