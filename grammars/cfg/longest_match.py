"""check_longest_match: a lexer reads on where the grammar needs a terminal to end; a dead end?

With `start: A B`, `A: /a+/`, `B: /ab/`, every `a` belongs to A and B never comes: a text that
begins can never be finished. For each terminal this finds the letters with which the lexer may
read on after a whole text of it, whatever else it looks for at the time; something that begins
with another letter must be able to follow in every place. What is found is too much rather than too
little, so that what passes has no dead end.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from grammars.cfg.follow import Follows, members
from grammars.cfg.overlaps import Overlaps, live_letters
from grammars.cfg.rule_nfa import is_call
from grammars.cfg.spelling import Letters
from grammars.cfg.terminals import TerminalMaker
from grammars.errors import UnsupportedError
from grammars.safepoints import with_safepoints

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.cfg.follow import CallGraph, LetterSet, TerminalSet
    from grammars.cfg.network import Network


def check_longest_match(network: Network, graph: CallGraph, *, max_states: int) -> None:
    """Refuse a grammar with a lexer that could reach a dead end.

    Args:
        network: of a grammar with a lexer.
        graph: of the network.
        max_states: states of one lexer.

    Raises:
        UnsupportedError: names the terminal that swallows what must follow it, or two terminals
            between which a priority would have to choose.
        LimitExceededError: the terminals are too large to be compared.
    """
    if network.root is not None and not network.is_scannerless:
        _Check(network, graph, max_states).run()


class _Check:
    def __init__(self, network: Network, graph: CallGraph, max_states: int) -> None:
        self._network = network
        self._graph = graph
        letters = Letters(text.node for text in network.texts)
        maker = TerminalMaker(letters, max_states=max_states)
        terminals = [maker.make(text.node) for text in network.texts]
        self._overlaps = Overlaps(terminals)
        self._first = [
            live_letters(dfa, np.arange(dfa.num_states) == dfa.start) for dfa in terminals
        ]
        self._first_of: dict[TerminalSet, LetterSet] = {}
        self._follows = Follows(network, graph, [1 << t for t in range(len(network.terminals))])
        self._ignored = sum(1 << t for t in network.ignored)

    def run(self) -> None:
        reads_on = self._reads_on(self._allowed_together())
        for edges in with_safepoints(self._network.edges):
            for symbol, target in edges.items():
                terminal = symbol // 2
                if not is_call(symbol) and not self._is_alive(target, reads_on[terminal]):
                    raise self._swallowed(terminal)
        for separator in self._network.ignored:
            for position, edges in with_safepoints(enumerate(self._network.edges)):
                if edges and not self._can_begin(
                    self._follows.first[position], reads_on[separator]
                ):
                    raise self._swallowed(separator)

    def _allowed_together(self) -> set[TerminalSet]:
        """Sets of terminals that one lexer may look for; every lexer's are within one of them.

        None is within another: what terminals have in common they have in any set with them.
        """
        network = self._network
        assert network.root is not None
        start = network.starts[network.root]
        assert start is not None
        group_of = list(range(len(network.terminals)))
        while True:
            follow = [0] * len(group_of)
            for terminal, group in enumerate(group_of):
                follow[group] |= self._follows.after_terminal[terminal]
            for ignored in network.ignored:
                if group_of.count(group_of[ignored]) > 1:  # it may end together with another
                    follow[group_of[ignored]] = (1 << len(group_of)) - 1
            sets = {self._follows.first[start]}
            sets |= {terminals | self._ignored for terminals in follow if terminals}
            merged = group_of
            sets = _largest(sets)
            for terminals in sorted(sets):
                for same_text in self._overlaps.of(terminals).same_text:
                    for one, other in pairwise(same_text):
                        self._check_priority(one, other)
                        old, new = merged[other], merged[one]
                        if old != new:
                            merged = [new if group == old else group for group in merged]
            if merged == group_of:
                return sets
            group_of = merged

    def _reads_on(self, sets: Iterable[TerminalSet]) -> list[LetterSet]:
        """By terminal, the letters with which a lexer may read on where it has ended."""
        found = [0] * len(self._network.terminals)
        for terminals in sets:
            for terminal, letters in self._overlaps.of(terminals).reads_on.items():
                found[terminal] |= letters
        return found

    def _is_alive(self, position: int, taken: LetterSet) -> bool:
        """Whether a text can go on at a position, or end, if its next letter is not a taken one."""
        network = self._network
        pending = [position]
        seen = {position}
        for place in pending:
            edges = network.edges[place]
            if edges and self._can_begin(self._follows.first[place] | self._ignored, taken):
                continue
            if not network.is_final[place]:
                return False
            for after in self._graph.returns[network.rule_of[place]]:
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
        return True

    def _can_begin(self, terminals: TerminalSet, taken: LetterSet) -> bool:
        """Whether one of some terminals begins with a letter that is not a taken one."""
        known = self._first_of.get(terminals)
        if known is None:
            known = 0
            for terminal in members(terminals):
                known |= self._first[terminal]
            self._first_of[terminals] = known
        return bool(known & ~taken)

    def _check_priority(self, one: int, other: int) -> None:
        first, second = self._network.texts[one], self._network.texts[other]
        if first.priority != second.priority:
            raise UnsupportedError(
                f"it shares a text with {second.name} and differs from it in priority, which is "
                "not supported: every reading of a text counts; make their texts distinct",
                keyword="lark",
                place=f"terminal {first.name}",
            )

    def _swallowed(self, terminal: int) -> UnsupportedError:
        name = self._network.texts[terminal].name
        return UnsupportedError(
            "where it ends, the lexer may take all that could follow for more of "
            "the same (the longest match is taken), so a text might never end; put a separator "
            "between them (or %ignore one), or make them one terminal",
            keyword="lark",
            place=f"terminal {name}",
        )


def _largest(sets: Iterable[TerminalSet]) -> set[TerminalSet]:
    """The sets that are not within another."""
    kept: list[TerminalSet] = []
    for terminals in sorted(sets, key=int.bit_count, reverse=True):
        if all(terminals & ~other for other in kept):
            kept.append(terminals)
    return set(kept)
