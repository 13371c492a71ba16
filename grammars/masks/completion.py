"""Completion: how many tokens a text needs at least to be complete, by a way that is always there.

The number is achievable, and near to the least: terminals are spelled in the fewest tokens, the
seams between them cost at most a token each. What a mask under a budget needs is the law of
`Completion.num_tokens`: from every configuration some token leads to one that needs a token less.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, TypeAlias

from grammars.errors import LimitExceededError
from grammars.masks.all_costs import Costs, all_costs
from grammars.masks.lexer_ways import LexerWays
from grammars.masks.string_ends import StringEnds
from grammars.pushdown.actions import Dead, Goto, Pop, Push
from grammars.pushdown.layout import StateColumn

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from grammars.masks.configuration import Configuration, Frame
    from grammars.masks.next_elements import NextElements
    from grammars.masks.token_spelling import TokenSpelling
    from grammars.pushdown.actions import Action, Expander
    from grammars.pushdown.tables import AutomatonTables

END: Final = -1
"""The outcome of a text that is complete; the others are those of `Pop`."""

_END, _INNER, _VISIT = range(3)
"""What stands in the queue of a search: an end of the frame, an inner frame, a state."""

MAX_CLOSING_STATES: Final = 16_384
"""States that may be made for one number, in a second at most. Real schemas need a few hundred.
Where keys come in any order, three of MaskBench's filled the tables, and no number was found."""

_UNKNOWN: Final = 2**63
_WHAT: Final = "the end of the text"
_NO_STATE: Final = 0

_STATES_AT_A_TIME: Final = 16
"""Looked at while the lock is held: a few milliseconds."""

_MOMENT_S: Final = 0.0002
"""Without a pause, the thread that has released a lock is the first to have it again."""

_Queue: TypeAlias = "list[tuple[int, int, int, int, int, int]]"
"""A heap: the distance with what is told to lie ahead, that, what it is, and whose."""

_Search: TypeAlias = "Generator[int, Costs | None, Costs | None]"
"""Asks for the costs of inner states; returns its own, None where every way is blocked."""


@dataclass(slots=True)
class Effort:
    """What a number may take, and has taken.

    Args:
        state: from where it is looked for.
        max_states: that may be looked at.
        most_made: states of the automaton, at which it is given up.
        lets_others_in: see `Completion.num_tokens`; not while something is half done.
    """

    state: int
    max_states: int | None
    most_made: int
    lets_others_in: bool
    num_looked: int = 0


class Completion:
    """Finds the costs of structural states once; all methods need `AutomatonTables.lock`.

    Costs only ever fall, and each rests on costs that were there before it. So the law holds at all
    times: a cost has a next action whose costs are smaller by what the action takes.

    Args:
        tables: the automaton.
        expander: writes what the tables lack.
        spelling: the tokens.
        elements: what the next elements of arrays cost where they must differ.
        num_written: elements at most that such arrays have which are open.

    Attributes:
        num_falls: how often the cost of a known state has fallen. Numbers from before and from
            after it cannot be compared.
        effort: what the number that is looked for has taken.
        asks_for_written: whether some cost has depended on `num_written`.
        strings: ends the strings that are read in pieces.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        expander: Expander,
        spelling: TokenSpelling,
        elements: NextElements | None = None,
        num_written: int = 0,
    ) -> None:
        self._tables = tables
        self._expander = expander
        self._elements = elements
        self._num_written = num_written
        self._ways = LexerWays(tables, spelling)
        self.strings = StringEnds(tables, expander, spelling)
        self._costs: dict[int, Costs] = {}
        self._rest: dict[tuple[Frame, int], int] = {}
        self._too_far: set[int] = set()  # from where MAX_CLOSING_STATES did not suffice
        self._begin(_NO_STATE)
        self.num_falls = 0
        self.asks_for_written = False

    def num_tokens(
        self,
        configuration: Configuration,
        max_states: int | None = None,
        *,
        lets_others_in: bool = False,
    ) -> int:
        """Tokens that complete the text; 0 where it is complete.

        Args:
            configuration: where the text is.
            max_states: states of unknown cost that may be looked at; None: as many as it takes.
            lets_others_in: whether a long search releases the lock now and then, for other texts.

        Raises:
            LimitExceededError: more than `max_states` are needed, or more than MAX_CLOSING_STATES
                would have to be made, which is remembered; or no way is found on which enough
                elements differ.
            GrammarError: the automaton cannot grow within its limits.
        """
        self._begin(configuration.state, max_states, lets_others_in=lets_others_in)
        return self._to_the_end(self._costs_of_top(configuration), configuration.below)

    def num_tokens_after(self, action: Action, below: Frame | None) -> int:
        """The same where an action has just been done.

        Args:
            action: of a label.
            below: the frames below the top that it is done in.
        """
        self._begin(_NO_STATE)
        return self._to_the_end(self._costs_after(action), below)

    def ends_of_element(self, configuration: Configuration) -> Costs:
        """Tokens to the end of the value that the lowest frame is in, by the state behind it.

        Args:
            configuration: inside of the value, or before it; with nothing below its frame.
        """
        frame = configuration.below
        costs: Costs = {}
        if frame is None:
            for num_tokens, action in [*self._terminals_here(configuration)]:
                match action:
                    case Goto(target):
                        _lower(costs, target, num_tokens)
                    case Push(resume, inner):
                        for outcome, cost in self._state_costs(inner).items():
                            _lower(costs, self._resume(resume, outcome), num_tokens + cost)
                    case Pop() | Dead():
                        pass
            return costs
        costs = self._costs_of_top(configuration)
        while frame is not None:
            behind: Costs = {}
            for outcome, cost in costs.items():
                target = self._resume(frame.state, outcome)
                if frame.below is None:
                    _lower(behind, target, cost)
                    continue
                for last, more in self._state_costs(target).items():
                    _lower(behind, last, cost + more)
            frame, costs = frame.below, behind
        return costs

    def _costs_of_top(self, configuration: Configuration) -> Costs:
        """The costs to the end of the topmost frame."""
        cut = self._expander.cut_strings(configuration.state)
        is_in_string = cut is not None and cut.is_open  # where every outcome has been promised
        if configuration.is_fresh and not is_in_string:
            return self._state_costs(configuration.state)
        return self._costs_inside(configuration)

    def _terminals_here(self, configuration: Configuration) -> Iterator[tuple[int, Action]]:
        """`_terminals` of a configuration."""
        state = configuration.state
        if configuration.is_fresh:
            yield from self._opening(state, self._tables.state_row(state))
            return
        owed = max(0, self._count_min(state) - configuration.counted)
        yield from self._terminals(state, configuration.lexer, owed)

    def _begin(
        self, state: int, max_states: int | None = None, *, lets_others_in: bool = False
    ) -> None:
        """A number is asked for, from a state on."""
        most_made = 0 if state in self._too_far else self._tables.num_states + MAX_CLOSING_STATES
        self.effort = Effort(state, max_states, most_made, lets_others_in)

    def _to_the_end(self, costs: Costs, below: Frame | None) -> int:
        """What a text needs in the end, by the costs of its top."""
        if below is None:
            found = costs.get(END, _UNKNOWN)
        else:
            rests = (cost + self._rest_cost(below, outcome) for outcome, cost in costs.items())
            found = min(rests, default=_UNKNOWN)
        if found >= _UNKNOWN:
            raise LimitExceededError("max_closing_states", MAX_CLOSING_STATES, _WHAT)
        return found

    def _costs_inside(self, configuration: Configuration) -> Costs:
        """The costs from the middle of a terminal."""
        state = configuration.state
        owed = max(0, self._count_min(state) - configuration.counted)
        costs: Costs = {}
        for num_tokens, action in [*self._terminals(state, configuration.lexer, owed)]:
            for outcome, cost in self._costs_after(action).items():
                _lower(costs, outcome, num_tokens + cost)
        return costs

    def _costs_after(self, action: Action) -> Costs:
        match action:
            case Goto(target):
                return self._state_costs(target)
            case Push(resume, inner):
                costs: Costs = {}
                for outcome, cost in self._state_costs(inner).items():
                    for last, more in self._state_costs(self._resume(resume, outcome)).items():
                        _lower(costs, last, cost + more)
                return costs
            case Pop(outcome):
                return {outcome: 0}
            case Dead():
                return {}

    def _rest_cost(self, frame: Frame, outcome: int) -> int:
        """Tokens that complete the text once the frame above `frame` is popped."""
        pending = [(frame, outcome)]
        while pending:
            frame, outcome = pending[-1]
            costs = self._state_costs(self._resume(frame.state, outcome))
            if frame.below is None:
                self._rest[frame, outcome] = costs.get(END, _UNKNOWN)
                pending.pop()
                continue
            below = [(frame.below, last) for last in costs]
            unknown = [key for key in below if key not in self._rest]
            if unknown:
                pending += unknown
                continue
            self._rest[frame, outcome] = min(
                (cost + self._rest[key] for key, cost in zip(below, costs.values(), strict=True)),
                default=_UNKNOWN,
            )
            pending.pop()
        return self._rest[frame, outcome]

    def _state_costs(self, state: int) -> Costs:
        known = self._costs.get(state)
        return self._search_all(state) if known is None else known

    def _search_all(self, state: int) -> Costs:
        """Run a search and those that it asks for; none is inside another one of the same state.

        The least text of a state has no text of the same state in it, so what is blocked is never
        the whole answer. But a search asks what inner states cost with the outcomes that are known.
        Where only another outcome leads on (an element that `contains` asks for), the outermost
        search finds no way, and all outcomes are found.
        """
        running: dict[int, _Search] = {state: self._search(state)}
        blocked_by: dict[int, int] = {}  # a state without a way now -> the depth that it waits for
        answer: Costs | None = None
        while True:
            depth, (current, search) = len(running), next(reversed(running.items()))
            try:
                asked = search.send(answer)
            except StopIteration as stop:
                answer = stop.value
                del running[current]
                blocked_by = {s: d for s, d in blocked_by.items() if d < depth}
                if answer is None:
                    if not running:
                        return self._find_all(current)
                    blocked_by[current] = depth - 1
                    continue
                if not running:
                    return self._costs[state]
                continue
            answer = self._costs.get(asked)
            if answer is None and asked not in running and asked not in blocked_by:
                running[asked] = self._search(asked)

    def _search(self, start: int) -> _Search:
        """Find a cheap way from a fresh state to the end of its frame.

        The cheapest (E. W. Dijkstra, 1959); where the expander tells how far the end is, one that
        is looked for in its direction. All states on the way learn what they cost.
        """
        before: dict[int, tuple[int, int]] = {}  # state -> the one before it, its distance
        queue: _Queue = [(0, 0, _VISIT, start, 0, 0)]
        while queue:
            total, ahead, kind, state, first, second = heappop(queue)
            distance = total - ahead
            if kind == _END:
                self._learn(before, state, first, distance)
                return self._costs[start]
            if kind == _INNER:
                costs = self._costs.get(second)
                if costs is None:
                    costs = yield second
                for outcome, cost in (costs or {}).items():
                    target = self._resume(first, outcome)
                    self._enqueue(queue, distance + cost, target, state)
                continue
            if state in before:
                continue
            before[state] = (first, distance)
            for outcome, cost in self._costs.get(state, {}).items():
                heappush(queue, (distance + cost, 0, _END, state, outcome, 0))
            if state in self._costs:
                continue
            self.count_state()
            row = self._tables.state_row(state)
            if row[StateColumn.IS_FINAL]:
                heappush(queue, (distance, 0, _END, state, END, 0))
            for num_tokens, action in self._terminals_of(state, row):
                after = distance + num_tokens
                match action:
                    case Goto(target):
                        self._enqueue(queue, after, target, state)
                    case Push(resume, inner):
                        heappush(queue, (after, 0, _INNER, state, resume, inner))
                    case Pop(outcome):
                        heappush(queue, (after, 0, _END, state, outcome, 0))
                    case Dead():
                        pass
        return None

    def _enqueue(self, queue: _Queue, distance: int, target: int, before: int) -> None:
        """Have a state visited in its turn."""
        ahead = self._expander.least_rest(target)
        heappush(queue, (distance + ahead, ahead, _VISIT, target, before, 0))

    def _find_all(self, start: int) -> Costs:
        """All costs of the states that can be reached from one, which is complete, and slower."""
        for state, costs in all_costs(start, self._moves, self._resume).items():
            for outcome, cost in costs.items():
                self._learn_cost(state, outcome, cost)
        return self._costs.get(start, {})  # none inside of a search for elements of the same array

    def _moves(self, state: int) -> Iterator[tuple[int, Action]]:
        """What the terminals of a fresh state cost, and what they do; the end is an outcome too."""
        self.count_state()
        row = self._tables.state_row(state)
        if row[StateColumn.IS_FINAL]:
            yield 0, Pop(END)
        yield from self._terminals_of(state, row)

    def _terminals_of(self, state: int, row: Sequence[int]) -> Iterator[tuple[int, Action]]:
        """`_terminals` of a fresh state: its row in the tables; or an element that must differ."""
        element = None if self._elements is None else self._elements.element(state)
        if element is None:
            yield from self._opening(state, row)
            return
        assert self._elements is not None, "it has told of the element"
        self.asks_for_written |= not element.is_counted
        effort = self.effort
        lets_others_in, effort.lets_others_in = effort.lets_others_in, False
        yield from self._elements.ways(state, element, self._num_written, self)
        effort.lets_others_in = lets_others_in

    def _opening(self, state: int, row: Sequence[int]) -> Iterator[tuple[int, Action]]:
        """`_terminals` of a fresh state, each terminal alone."""
        yield from self.strings.opening(state)
        yield from self._terminals(state, row[StateColumn.LEXER_START], row[StateColumn.COUNT_MIN])

    def _terminals(self, state: int, lexer: int, num_owed: int) -> Iterator[tuple[int, Action]]:
        """What the terminals cost that may be read from a lexer state, and what they do.

        Those of a fresh state that open such strings are left out.
        """
        strings = self.strings.inside(state, lexer)
        if strings is not None:
            yield from strings
            return
        with_strings = self._expander.cut_strings(state) is None
        for way in self._ways.find(lexer, state, with_strings=with_strings):
            yield way.num_tokens(num_owed), self._action(state, way.label)

    def count_state(self) -> None:
        """Count what is looked at for one number; raises `LimitExceededError`."""
        effort, what = self.effort, _WHAT
        if effort.num_looked == effort.max_states:
            raise LimitExceededError("max_states", effort.num_looked, what)
        if self._tables.num_states > effort.most_made:
            self._too_far.add(effort.state)
            raise LimitExceededError("max_closing_states", MAX_CLOSING_STATES, what)
        effort.num_looked += 1
        if effort.lets_others_in and effort.num_looked % _STATES_AT_A_TIME == 0:
            self._tables.lock.release()
            time.sleep(_MOMENT_S)
            self._tables.lock.acquire()
            self.effort = effort  # others may have asked for numbers of theirs

    def _learn(
        self, before: dict[int, tuple[int, int]], state: int, outcome: int, total: int
    ) -> None:
        while state != 0:
            earlier, distance = before[state]
            self._learn_cost(state, outcome, total - distance)
            state = earlier

    def _learn_cost(self, state: int, outcome: int, cost: int) -> None:
        known = self._costs.setdefault(state, {})
        self.num_falls += bool(known) and cost < known.get(outcome, _UNKNOWN)
        _lower(known, outcome, cost)

    def _count_min(self, state: int) -> int:
        return self._tables.state_row(state)[StateColumn.COUNT_MIN]

    def _action(self, state: int, label: int) -> Action:
        action = self._tables.action(state, label)
        if action is None:
            self._expander.expand_action(state, label)
            action = self._tables.action(state, label)
        assert action is not None, "the expander wrote nothing"
        return action

    def _resume(self, state: int, outcome: int) -> int:
        target = self._tables.resume(state, outcome)
        if target is None:
            self._expander.expand_resume(state, outcome)
            target = self._tables.resume(state, outcome)
        assert target is not None, "the expander wrote nothing"
        return target


def _lower(costs: Costs, outcome: int, cost: int) -> None:
    costs[outcome] = min(cost, costs.get(outcome, cost))
