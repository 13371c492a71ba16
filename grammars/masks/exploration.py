"""explore: the configurations of a grammar, breadth first, as `DeviceTables`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.device_tables import ENDED, START, DeviceTables
from grammars.masks.rows import row_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from grammars.device_tables import DeviceBudget
    from grammars.masks.compiled import AutomatonGrammar
    from grammars.masks.configuration import Configuration


def explore(
    grammar: AutomatonGrammar,
    start: Configuration,
    budget: DeviceBudget,
    goes_on: Callable[[], bool],
) -> DeviceTables | None:
    """The tables of a grammar without texts that must differ; None where the budget is too small.

    The grammar's lock is taken for one state at a time: texts of the grammar need not wait.

    Args:
        grammar: whose.
        start: where its texts begin.
        budget: states and bytes at most.
        goes_on: asked before each state; False: None at once.

    Raises:
        GrammarError: the automaton cannot grow within its limits.
    """
    exploration = _Exploration(grammar, budget)
    exploration.number(start)
    for configuration in exploration.configurations:
        if not goes_on():
            return None
        exploration.visit(configuration)
        if exploration.is_over_budget:
            return None
    return exploration.tables()


class _Exploration:
    def __init__(self, grammar: AutomatonGrammar, budget: DeviceBudget) -> None:
        self._grammar = grammar
        self._budget = budget
        self._end_ids = np.array(grammar.vocabulary.end_token_ids, np.int32)
        self.configurations: list[Configuration] = []
        self._numbers: dict[Configuration, int] = {}
        self._row_numbers: dict[bytes, int] = {}
        self._row_of_state: list[int] = []
        self._defaults: list[int] = []
        self._exceptions: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        self._num_exceptions = 0

    @property
    def is_over_budget(self) -> bool:
        """Whether what has been found already takes too much."""
        num_bytes = 4 * self._grammar.vocabulary.num_words * (len(self._row_numbers) + 1)
        num_bytes += 8 * self._num_exceptions + 16 * self._num_states
        return self._num_states > self._budget.max_states or num_bytes > self._budget.max_bytes

    @property
    def _num_states(self) -> int:
        return len(self.configurations) + 1

    def number(self, configuration: Configuration) -> int:
        """The state of a configuration; START is the first, ENDED is none."""
        known = self._numbers.get(configuration)
        if known is None:
            known = START if not self._numbers else len(self._numbers) + 1
            self._numbers[configuration] = known
            self.configurations.append(configuration)
        return known

    def visit(self, configuration: Configuration) -> None:
        """Write the row and the next states of a configuration."""
        row = self._grammar.mask(configuration).words.tobytes()
        self._row_of_state.append(self._row_numbers.setdefault(row, len(self._row_numbers)))
        ends, following = self._grammar.successors(configuration)
        states = np.array([ENDED, *map(self.number, following)], np.int32)
        counts = np.bincount(ends, minlength=len(states))
        counts[0] = 0
        usual = int(counts.argmax()) if following else 0
        token_ids = np.flatnonzero((ends != 0) & (ends != usual)).astype(np.int32)
        next_states = states[ends[token_ids]]
        if usual != 0 and configuration.is_complete:
            token_ids = np.concatenate((token_ids, self._end_ids))
            next_states = np.concatenate((next_states, np.full_like(self._end_ids, ENDED)))
            order = np.argsort(token_ids)
            token_ids, next_states = token_ids[order], next_states[order]
        self._defaults.append(int(states[usual]))
        self._exceptions.append((token_ids, next_states))
        self._num_exceptions += len(token_ids)

    def tables(self) -> DeviceTables:
        """All that was found, with ENDED between START and the other states."""
        end_row = row_of(self._end_ids.tolist(), self._grammar.vocabulary.num_words)
        end_number = self._row_numbers.setdefault(end_row.tobytes(), len(self._row_numbers))
        rows = np.frombuffer(b"".join(self._row_numbers), np.uint32)
        nothing = np.zeros(0, np.int32)
        exceptions = [*self._exceptions[:1], (nothing, nothing), *self._exceptions[1:]]
        is_complete = [x.is_complete for x in self.configurations]
        return DeviceTables(
            rows=rows.reshape(len(self._row_numbers), -1),
            row_of_state=_with_ended(self._row_of_state, end_number),
            default_next=_with_ended(self._defaults, ENDED),
            exception_begin=np.cumsum([0, *(len(t) for t, _ in exceptions)], dtype=np.int32),
            exception_tokens=np.concatenate([tokens for tokens, _ in exceptions]),
            exception_next=np.concatenate([states for _, states in exceptions]),
            is_complete=_with_ended(is_complete, 1).astype(np.bool_),
        )


def _with_ended(of_states: list[int] | list[bool], of_ended: int) -> NDArray[np.int32]:
    return np.array([*of_states[:1], of_ended, *of_states[1:]], np.int32)
