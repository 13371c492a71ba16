"""Follow sets: what may begin at a position and what may come after a terminal.

A. Aho, M. Lam, R. Sethi and J. Ullman, "Compilers" (2nd ed.), section 4.4.2, over bytes or over
terminals. They hold for any stack, so they may be too large for the one at hand, never too small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grammars.automata.dfa import DEAD, NUM_BYTES
from grammars.cfg.grouped import Grouped
from grammars.cfg.rule_nfa import is_call
from grammars.safepoints import popped_keys, with_safepoints

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.cfg.network import Network

BitSet: TypeAlias = int
"""A set of small numbers: bit i is set when i is a member."""

ByteSet: TypeAlias = BitSet
LetterSet: TypeAlias = BitSet
TerminalSet: TypeAlias = BitSet


def bit_set(is_member: NDArray[np.bool_]) -> BitSet:
    """The set of the numbers that are marked.

    Args:
        is_member: bool, (largest number + 1,).
    """
    return int.from_bytes(np.packbits(is_member, bitorder="little").tobytes(), "little")


def live_bytes(dfa: Dfa, state: int) -> ByteSet:
    """The bytes that lead on from a state."""
    return bit_set(dfa.next_state[state][dfa.symbol_class[:NUM_BYTES]] != DEAD)


def members(bits: BitSet) -> Iterator[int]:
    """The members of a set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


class CallGraph:
    """Which sets are part of which others, whatever they are sets of.

    Attributes:
        returns: by rule, the positions after its calls.
        firsts: (rule start, position that calls the rule) for all calls.
        ends: (rule, another rule that may end where the first one is called) for all calls.
    """

    def __init__(self, network: Network) -> None:
        rules: list[int] = []
        callers: list[int] = []
        targets: list[int] = []
        for position, edges in with_safepoints(enumerate(network.edges)):
            for symbol, target in edges.items():
                if is_call(symbol):
                    rules.append(symbol // 2)
                    callers.append(position)
                    targets.append(target)
        self.returns = Grouped(rules, targets, len(network.starts))
        starts = [-1 if start is None else start for start in network.starts]
        num_positions = len(network.edges)
        self.firsts = Grouped([starts[rule] for rule in rules], callers, num_positions)
        ending = [i for i, target in enumerate(targets) if network.is_final[target]]
        self.ends = Grouped(
            [network.rule_of[targets[i]] for i in ending],
            [rules[i] for i in ending],
            len(network.starts),
        )


class Follows:
    """Follow sets of one grammar.

    Args:
        network: the grammar.
        graph: of the network.
        begins: by terminal, what it begins with: a set of bytes, or the terminal itself.

    Attributes:
        first: by position, what may come there, what follows its rule left out.
        after_terminal: by terminal, what may come right after it.
    """

    def __init__(self, network: Network, graph: CallGraph, begins: Sequence[BitSet]) -> None:
        self.first: list[BitSet] = []
        for edges in with_safepoints(network.edges):
            first = 0
            for symbol in edges:
                if not is_call(symbol):
                    first |= begins[symbol // 2]
            self.first.append(first)
        _spread(self.first, graph.firsts)
        after_rule: list[BitSet] = []
        for rule in with_safepoints(range(len(network.starts))):
            after = 0
            for position in graph.returns[rule]:
                after |= self.first[position]
            after_rule.append(after)
        _spread(after_rule, graph.ends)
        self.after_terminal: list[BitSet] = [0] * len(network.terminals)
        for edges in with_safepoints(network.edges):
            for symbol, target in edges.items():
                if not is_call(symbol):
                    after = self.first[target]
                    if network.is_final[target]:
                        after |= after_rule[network.rule_of[target]]
                    self.after_terminal[symbol // 2] |= after


def _spread(sets: list[BitSet], takers: Grouped) -> None:
    """Enlarge sets until each holds those that it takes from."""
    pending = dict.fromkeys(range(len(sets)))
    for giver in popped_keys(pending):
        given = sets[giver]
        for taker in takers[giver] if given else ():
            if given & ~sets[taker]:
                sets[taker] |= given
                pending[taker] = None
