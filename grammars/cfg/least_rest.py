"""LeastRest: how much ends a text of a grammar at least, without looking for the way."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from grammars.automata.dfa import DEAD, NO_LABEL
from grammars.cfg.items import END, NO_TERMINAL
from grammars.cfg.rule_nfa import is_call

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa
    from grammars.cfg.items import FrameId, FrameTable, Item, Items, PositionId, Positions
    from grammars.cfg.network import Network

_END_FRAME: Final = -1


class LeastRest:
    """The least that the texts of items still need, each found once.

    It is counted in bytes; with a lexer, in terminals, of which each takes a token or more. Without
    a lexer every way through the grammar is a text, and this is exact.

    Args:
        network: the grammar.
        positions: of the items.
        frames: of the items.
    """

    def __init__(self, network: Network, positions: Positions, frames: FrameTable) -> None:
        self._network = network
        self._positions = positions
        self._frames = frames
        self._of_frame: dict[FrameId, int] = {_END_FRAME: 0}
        self._inside: dict[int, list[int]] = {}

    def find(self, items: Items) -> int:
        """What ends the text from a set of items, at least; 0 where it may end.

        Between brackets, what ends the rule that has them.
        """
        return min(self._of_item(item) for item in items)

    def _of_item(self, item: Item) -> int:
        if item == END:
            return 0
        return self._in_rule(item.position) + self._to_the_end(item.frame)

    def _to_the_end(self, start: FrameId) -> int:
        """From a frame on: a shortest way (E. W. Dijkstra, 1959) through the frames below."""
        known = self._of_frame
        distances: dict[FrameId, int] = {}
        queue: list[tuple[int, FrameId, FrameId]] = [(0, start, start)]  # and from which frame
        above: dict[FrameId, FrameId] = {}
        while queue:
            distance, frame, before = heappop(queue)
            if frame in distances:
                continue
            distances[frame], above[frame] = distance, before
            if frame not in known:
                for item in self._frames[frame]:
                    size = 0 if item == END else self._in_rule(item.position)
                    heappush(queue, (distance + size, item.frame, frame))
                continue
            total = distance + known[frame]
            while True:
                known[frame] = total - distances[frame]
                if frame == start:
                    return total
                frame = above[frame]
        raise AssertionError("every item has a way to its end")

    def _in_rule(self, position: PositionId) -> int:
        """From a position to the end of its rule."""
        inner = self._positions.inner(position)
        if inner is None:
            return self._of_position[position]
        if inner.terminal == NO_TERMINAL:  # of a hole
            return 0
        return self._of_terminal(inner.terminal)[inner.lexer] + self._of_position[inner.target]

    @cached_property
    def _of_position(self) -> dict[PositionId, int]:
        """From each position to the end of its rule.

        D. E. Knuth, "A generalization of Dijkstra's algorithm" (1977).
        """
        network = self._network
        callers: defaultdict[int, list[tuple[PositionId, PositionId]]] = defaultdict(list)
        leading: defaultdict[PositionId, list[tuple[PositionId, int]]] = defaultdict(list)
        for position, edges in enumerate(network.edges):
            for symbol, target in edges.items():
                leading[target].append((position, symbol))
                if is_call(symbol):
                    callers[symbol // 2].append((position, target))
        rule_of_start = {start: rule for rule, start in enumerate(network.starts)}
        found: dict[PositionId, int] = {}
        sizes: dict[int, int] = {}  # of rules
        queue = [(0, position) for position, final in enumerate(network.is_final) if final]
        while queue:
            size, position = heappop(queue)
            if position in found:
                continue
            found[position] = size
            rule = rule_of_start.get(position)
            if rule is not None:
                sizes[rule] = size
                for caller, after in callers[rule]:
                    if after in found:
                        heappush(queue, (size + found[after], caller))
            for before, symbol in leading[position]:
                if not is_call(symbol):
                    terminal = symbol // 2
                    start = network.terminals[terminal].start
                    heappush(queue, (size + self._of_terminal(terminal)[start], before))
                elif symbol // 2 in sizes:
                    heappush(queue, (size + sizes[symbol // 2], before))
        return found

    def _of_terminal(self, terminal: int) -> list[int]:
        """By state of a terminal's automaton, the way to its end."""
        known = self._inside.get(terminal)
        if known is None:
            known = _distances(self._network.terminals[terminal])
            if not self._network.is_scannerless:
                known = [min(distance, 1) for distance in known]
            self._inside[terminal] = known
        return known


def _distances(dfa: Dfa) -> list[int]:
    """By state, the bytes to the nearest that accepts, which there is but from DEAD."""
    sources: defaultdict[int, set[int]] = defaultdict(set)
    for state, row in enumerate(dfa.next_state.tolist()):
        for target in set(row) - {DEAD}:
            sources[target].add(state)
    found = [-1] * dfa.num_states
    pending = [state for state, label in enumerate(dfa.label.tolist()) if label != NO_LABEL]
    for state in pending:
        found[state] = 0
    for state in pending:  # grows while it is read
        for source in sources[state]:
            if found[source] < 0:
                found[source] = found[state] + 1
                pending.append(source)
    return found
