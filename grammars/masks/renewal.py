"""RenewedGrammar: a compiled grammar whose automaton is begun anew when it has grown large.

An automaton is expanded where texts come, and never forgets; over months of texts that is memory
without bound. So a grammar lives in epochs: when the tables pass a soft budget, later texts begin
in a fresh automaton. Texts under way stay with theirs, which is dropped with the last of them; one
that comes to the hard budget is read again in an automaton with room. Only a text that fills a
fresh automaton by itself fails.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from weakref import WeakSet

from grammars.masks.ahead import always
from grammars.masks.matcher import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grammars.device_tables import DeviceBudget, DeviceTables
    from grammars.masks.compiled import AutomatonGrammar
    from grammars.vocabulary import Vocabulary


class RenewedGrammar:
    """Implements `CompiledGrammar`; thread-safe.

    Args:
        make: makes the automaton as it is before any text; what it gives the first time, it always
            gives.
        renew_bytes: the soft budget of its tables.
        base_bytes: about what an automaton takes beside its tables: the schema and its values.

    Raises:
        GrammarError: the grammar is refused.
    """

    def __init__(
        self, make: Callable[[], AutomatonGrammar], *, renew_bytes: int, base_bytes: int
    ) -> None:
        self._make = make
        self._renew_bytes = renew_bytes
        self._base_bytes = base_bytes
        self._lock = threading.Lock()
        self._current = make()
        self._alive = WeakSet((self._current,))

    def matcher(self) -> Matcher:
        """A new matcher at the start of the text."""
        return Matcher(self._with_room(), self)

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens."""
        return self._current.vocabulary

    @property
    def memory_bytes(self) -> int:
        """Bytes of all automata that texts are in, and about of what is known of them."""
        with self._lock:
            return sum(self._base_bytes + automaton.memory_bytes for automaton in self._alive)

    @property
    def num_states(self) -> int:
        """Structural states made so far, in the automaton of new texts."""
        return self._current.num_states

    def warm(self, num_actions: int, goes_on: Callable[[], bool] = always) -> int:
        """See `ExpandableGrammar`; fills tables up to the soft budget at most."""
        automaton = self._with_room()

        def has_room() -> bool:
            return automaton.table_bytes <= self._renew_bytes

        return automaton.warm(num_actions, lambda: has_room() and goes_on())

    def device_tables(
        self, budget: DeviceBudget, goes_on: Callable[[], bool] = always
    ) -> DeviceTables | None:
        """See `TabledGrammar`."""
        return self._with_room().device_tables(budget, goes_on)

    def others(self, full: AutomatonGrammar) -> Iterator[AutomatonGrammar]:
        """See `Renewal`."""
        current = self._with_room()
        if current is not full:
            yield current
        with self._lock:
            fresh = self._renew()
        yield fresh

    def _with_room(self) -> AutomatonGrammar:
        with self._lock:
            if self._current.table_bytes > self._renew_bytes:
                self._renew()
            return self._current

    def _renew(self) -> AutomatonGrammar:
        self._current = self._make()
        self._alive.add(self._current)
        return self._current
