"""Parsing: from a set of items to the terminals that may come next, and to the set after them.

The sets are those of J. Earley ("An efficient context-free parsing algorithm", 1970), but with
frames instead of places in the text: so equal sets are equal wherever they come up, and can be
numbered as the states of an automaton.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from grammars.cfg.calls import ITEMS_COPIED, Calls, new_frame, resolved, rule_of_new
from grammars.cfg.components import strong_components
from grammars.cfg.items import END, FrameTable, InnerPosition, Item, Positions
from grammars.cfg.least_rest import LeastRest
from grammars.cfg.rule_nfa import is_call
from grammars.cfg.simulation import Simulation
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.cfg.items import FrameId, Items, PositionId
    from grammars.cfg.network import Network
    from grammars.work import Work


class Scan(NamedTuple):
    """A terminal that may come next, from a state of its automaton on."""

    terminal: int
    lexer: int


Scans: TypeAlias = dict[Scan, frozenset[Item]]
"""What may come next, each with the items that wait for its end (their position is after it)."""


class _Call(NamedTuple):
    """A call of a rule.

    Args:
        rule: its number.
        after: the position after it.
        goes_on: whether anything may be read there.
        ends: whether the calling rule may end there.
    """

    rule: int
    after: PositionId
    goes_on: bool
    ends: bool


class _Ways(NamedTuple):
    """What may come next at a position: terminals, each with the position after it; calls."""

    scans: tuple[tuple[Scan, PositionId], ...]
    calls: tuple[_Call, ...]


MAX_CANDIDATES = 16
"""Frames that a new frame is compared with."""


class Parser:
    """The parser of one grammar.

    Args:
        network: the grammar.
        max_items: items that one set, or one search for what may come next, may come to.
        work: counts the items that are looked at.
    """

    def __init__(self, network: Network, max_items: int, work: Work) -> None:
        self._network = network
        self._max_items = max_items
        self._work = work
        self._positions = Positions(network)
        self._frames = FrameTable(self._positions)
        self._simulation = Simulation(self._positions, self._frames, work)
        self._ways_of: dict[PositionId, _Ways] = {}
        self._predictions: dict[frozenset[tuple[int, Items]], dict[int, FrameId]] = {}

    def start(self) -> Items:
        """The items at the beginning of a text."""
        network = self._network
        items = {END} if network.is_nullable else set()
        if network.root is not None:
            start = network.starts[network.root]
            assert start is not None
            items.add(Item(start, self._frames.intern(frozenset({END}))))
        return frozenset(items)

    def completed(self, kernel: Iterable[Item]) -> Items:
        """Some items with all that follows where their rules may end, without what is needless.

        Raises:
            LimitExceededError: the grammar is too ambiguous here.
        """
        self._simulation.begin()
        items: set[Item] = set()
        ended: set[FrameId] = set()
        num_read = 0
        for item in kernel:
            position, frame = item
            if item == END or self._positions.edges(position):
                items.add(item)  # else it reads nothing
            if self._positions.is_final(position) and frame not in ended:
                ended.add(frame)
                following = self._frames[frame]
                self._work.spend(1 + len(following) // ITEMS_COPIED)
                items |= following
            num_read += 1
        self._work.spend(num_read)
        self._check(len(items))
        return self._simulation.reduced(frozenset(items))

    def scans(self, items: Items) -> Scans:
        """What may come next, ignored terminals left out.

        Raises:
            LimitExceededError: the grammar is too ambiguous here.
        """
        self._simulation.begin()
        waiting: defaultdict[Scan, set[Item]] = defaultdict(set)
        for item in [*items, *self._predicted(items)]:
            if item != END:
                position, frame = item
                scans = self._ways(position).scans
                for scan, target in scans:
                    waiting[scan].add(Item(target, frame))
                self._work.spend(1 + len(scans))
        return {scan: frozenset(waiting[scan]) for scan in sorted(waiting)}

    def inside(self, scan: Scan, waiting: Items, lexer: int) -> Iterable[Item]:
        """The items of a terminal that has been read to a state of its automaton."""
        for item in waiting:
            inner = InnerPosition(scan.terminal, lexer, item.position)
            yield Item(self._positions.inner_id(inner), item.frame)

    def least_rest(self, items: Items) -> int:
        """What ends the text from a set of items at least, see `LeastRest`."""
        return self._least_rest.find(items)

    def nested(self, waiting: Items) -> Items:
        """The items after an opening bracket, with holes for all that follows the closing one."""
        positions = {item.position for item in waiting}
        return self.completed(Item(position, self._frames.hole(position)) for position in positions)

    def resumed(self, waiting: Items, ends: Items) -> Items:
        """The items after a closing bracket.

        Args:
            waiting: those after the opening one.
            ends: those after the closing one, with holes.
        """
        frames: defaultdict[FrameId, list[FrameId]] = defaultdict(list)
        for item in waiting:
            frames[self._frames.hole(item.position)].append(item.frame)
        return self.completed(
            Item(end.position, frame) for end in ends for frame in frames[end.frame]
        )

    @cached_property
    def _least_rest(self) -> LeastRest:
        return LeastRest(self._network, self._positions, self._frames)

    def _ways(self, position: PositionId) -> _Ways:
        """What may come next at a position."""
        known = self._ways_of.get(position)
        if known is None:
            known = self._ways_of[position] = self._find_ways(position)
        return known

    def _find_ways(self, position: PositionId) -> _Ways:
        inner = self._positions.inner(position)
        if inner is not None:
            return _Ways(((Scan(inner.terminal, inner.lexer), inner.target),), ())
        network = self._network
        scans, calls = [], []
        for symbol, target in network.edges[position].items():
            number = symbol // 2
            if is_call(symbol):
                calls.append(
                    _Call(
                        number,
                        target,
                        goes_on=bool(network.edges[target]),
                        ends=network.is_final[target],
                    )
                )
            else:
                scans.append((Scan(number, network.terminals[number].start), target))
        return _Ways(tuple(scans), tuple(calls))

    def _predicted(self, items: Items) -> list[Item]:
        """The first items of all rules that may begin here, with their frames."""
        calls = Calls()
        starts = self._network.starts
        for item in items:
            if item != END:
                self._call_from(item, calls)
        for rule in calls.rules:  # grows while it is read
            start = starts[rule]
            assert start is not None
            self._call_from(Item(start, new_frame(rule)), calls)
            self._check(max(calls.num_items, len(calls.rules)))
        frames = self._frames_of(calls)
        return [
            Item(start, frame)
            for rule, frame in frames.items()
            if (start := starts[rule]) is not None
        ]

    def _call_from(self, item: Item, calls: Calls) -> None:
        """Note all calls of an item, whose frame may be a new one."""
        position, frame = item
        called = self._ways(position).calls
        self._work.spend(1 + len(called))
        for rule, after, goes_on, ends in called:
            calls.add(rule, (Item(after, frame),) if goes_on else ())
            if ends:
                if frame >= 0:
                    following = self._frames[frame]
                    self._work.spend(len(following) // ITEMS_COPIED)
                    calls.add(rule, following)
                else:
                    calls.inherited[rule].add(rule_of_new(frame))

    def _frames_of(self, calls: Calls) -> dict[int, FrameId]:
        """The frame of each rule that is called."""
        shared = calls.share()
        calls.inherit(self._max_items, self._work)
        self._check(calls.num_items)
        self._work.spend(4 * len(calls.returns) + calls.num_items)
        graph = {
            rule: {rule_of_new(item.frame) for item in returns if item != END and item.frame < 0}
            for rule, returns in calls.returns.items()
        }
        frames: dict[int, FrameId] = {}
        for component in strong_components(graph):
            group = frozenset(
                (rule, frozenset(resolved(item, frames) for item in calls.returns[rule]))
                for rule in component
            )
            if len(component) == 1 and component[0] not in graph[component[0]]:
                ((rule, returns),) = group
                frames[rule] = self._frames.intern(self._simulation.reduced(returns))
            else:
                known = self._predictions.get(group)
                if known is None:
                    known = self._predictions[group] = self._cyclic_frames(dict(group))
                frames |= known
        return frames | {rule: frames[other] for rule, other in shared.items()}

    def _cyclic_frames(self, group: dict[int, Items]) -> dict[int, FrameId]:
        """The frames of rules that call each other in first place; old ones where these are equal.

        Args:
            group: rule -> its returns, in which the frames of the group itself are new.
        """
        candidates = self._candidates(group)
        self._work.spend((2 + len(candidates)) * len(group))
        frames = {rule: self._frames.new() for rule in sorted(group)}
        for rule, frame in frames.items():
            self._frames.define(frame, frozenset(resolved(i, frames) for i in group[rule]))
        for rule, frame in list(frames.items()):
            reduced = self._simulation.reduced(self._frames[frame])
            equal = (old for old in candidates if self._simulation.is_equal(frame, old))
            frames[rule] = next(equal, frame)
            if frames[rule] == frame:
                self._frames.define(frame, reduced)
        return frames

    def _candidates(self, group: dict[int, Items]) -> list[FrameId]:
        """Old frames that a new one may be equal to: those near it in the stack."""
        found: dict[FrameId, None] = {}
        pending = [item.frame for returns in group.values() for item in sorted(returns)]
        for frame in pending:
            if frame >= 0 and frame not in found and len(found) < MAX_CANDIDATES:
                found[frame] = None
                pending.extend(item.frame for item in sorted(self._frames[frame]))
        return list(found)

    def _check(self, num_items: int) -> None:
        if num_items > self._max_items:
            raise LimitExceededError(
                "max_parse_items", self._max_items, "a text of this ambiguous grammar"
            )
