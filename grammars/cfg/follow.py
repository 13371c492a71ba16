"""Follow sets: what may begin at a position and what may come after a terminal.

A. Aho, M. Lam, R. Sethi and J. Ullman, "Compilers" (2nd ed.), section 4.4.2, over bytes or over
terminals. They hold for any stack, so they may be too large for the one at hand, never too small.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from grammars.automata.dfa import DEAD, NUM_BYTES
from grammars.cfg.rule_nfa import is_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


class Follows:
    """Follow sets of one grammar.

    Args:
        network: the grammar.
        begins: by terminal, what it begins with: a set of bytes, or the terminal itself.

    Attributes:
        returns: by rule, the positions after its calls.
        after_terminal: by terminal, what may come right after it.
    """

    def __init__(self, network: Network, begins: Sequence[BitSet]) -> None:
        self._network = network
        self._begins = begins
        self._first: dict[int, BitSet] = {}
        self.returns: list[list[int]] = [[] for _ in network.starts]
        for edges in network.edges:
            for symbol, target in edges.items():
                if is_call(symbol):
                    self.returns[symbol // 2].append(target)
        self._first_of_rule = self._find_firsts()
        self._after_rule = self._find_rule_follows()
        self.after_terminal: list[BitSet] = [0] * len(network.terminals)
        for edges in network.edges:
            for symbol, target in edges.items():
                if not is_call(symbol):
                    self.after_terminal[symbol // 2] |= self._after(target)

    def first(self, position: int) -> BitSet:
        """What may come at a position, what follows its rule left out."""
        found = self._first.get(position)
        if found is None:
            found = 0
            for symbol in self._network.edges[position]:
                number = symbol // 2
                found |= self._first_of_rule[number] if is_call(symbol) else self._begins[number]
            self._first[position] = found
        return found

    def _after(self, position: int) -> BitSet:
        """What may come at a position, what follows its rule included."""
        found = self.first(position)
        if self._network.is_final[position]:
            found |= self._after_rule[self._network.rule_of[position]]
        return found

    def _find_firsts(self) -> dict[int, BitSet]:
        """By rule, what may come first in it."""
        own: dict[int, BitSet] = {}
        givers: dict[int, set[int]] = {}
        for rule, start in enumerate(self._network.starts):
            symbols = () if start is None else self._network.edges[start]
            own[rule] = 0
            givers[rule] = {symbol // 2 for symbol in symbols if is_call(symbol)}
            for symbol in symbols:
                if not is_call(symbol):
                    own[rule] |= self._begins[symbol // 2]
        return _spread(own, givers)

    def _find_rule_follows(self) -> dict[int, BitSet]:
        """By rule, what may come right after it."""
        network = self._network
        own: dict[int, BitSet] = {}
        givers: dict[int, set[int]] = {}
        for rule, returns in enumerate(self.returns):
            own[rule] = 0
            givers[rule] = {network.rule_of[after] for after in returns if network.is_final[after]}
            for after in returns:
                own[rule] |= self.first(after)
        return _spread(own, givers)


def _spread(own: Mapping[int, BitSet], givers: Mapping[int, set[int]]) -> dict[int, BitSet]:
    """The least sets that hold their own and, in turn, those of their givers."""
    found = dict(own)
    takers: defaultdict[int, set[int]] = defaultdict(set)
    for taker, sources in givers.items():
        for giver in sources:
            takers[giver].add(taker)
    pending = dict.fromkeys(found)
    while pending:
        giver, _ = pending.popitem()
        for taker in takers[giver]:
            if found[giver] & ~found[taker]:
                found[taker] |= found[giver]
                pending[taker] = None
    return found
