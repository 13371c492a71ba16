"""Brackets: pairs of terminals between which a text is a frame of its own.

A pair is one if every rule closes in itself what it opens: then so does every text of every rule,
and what was opened last is closed first. In these terminals the grammar is visibly pushdown (R.
Alur and P. Madhusudan, "Visibly pushdown languages", STOC 2004): which one was read tells what
happens to the stack, whatever else may be ambiguous, provided that none shares a text with others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grammars.cfg.follow import live_bytes
from grammars.cfg.rule_nfa import is_call
from grammars.safepoints import growing

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from grammars.cfg.follow import ByteSet
    from grammars.cfg.network import Network

_PAIRS: Final = ("()", "[]", "{}", "<>")


@dataclass(frozen=True, slots=True)
class Brackets:
    """The brackets of a grammar.

    Args:
        opening: terminals. A position right after one is never the end of its rule.
        closing: terminals.
    """

    opening: frozenset[int] = frozenset()
    closing: frozenset[int] = frozenset()


def find_brackets(network: Network, begins: Sequence[ByteSet]) -> Brackets:
    """Find the pairs of brackets for which all rules are balanced.

    Args:
        network: of a grammar with a lexer; without one there are none, since a terminal may still
            go on where another has ended.
        begins: by terminal, the bytes that it begins with.
    """
    opening: set[int] = set()
    closing: set[int] = set()
    for opener, closer in () if network.is_scannerless else _PAIRS:
        opens, closes = (_terminals_of(ord(byte), network, begins) for byte in (opener, closer))
        if opens and closes and _is_balanced(network, opens, closes):
            opening |= opens
            closing |= closes
    return Brackets(frozenset(opening), frozenset(closing))


def _terminals_of(byte: int, network: Network, begins: Sequence[ByteSet]) -> set[int]:
    """The terminals that begin with a byte if they are no more than it; none where one is."""
    found = {terminal for terminal, first in enumerate(begins) if first >> byte & 1}
    for terminal in found:
        dfa = network.terminals[terminal]
        if begins[terminal] != 1 << byte or live_bytes(dfa, dfa.step(dfa.start, byte)):
            return set()
    return found


def _is_balanced(network: Network, opens: Set[int], closes: Set[int]) -> bool:
    """Whether on every way through a rule each position is as many brackets deep, its ends none."""
    depths: dict[int, int] = {start: 0 for start in network.starts if start is not None}
    pending = list(depths)
    for position in growing(pending):
        depth = depths[position]
        if depth < 0 or (depth > 0 and network.is_final[position]):
            return False
        for symbol, target in network.edges[position].items():
            inside = depth
            if not is_call(symbol):
                inside += (symbol // 2 in opens) - (symbol // 2 in closes)
            if target not in depths:
                depths[target] = inside
                pending.append(target)
            elif depths[target] != inside:
                return False
    return True
