"""DeviceAutomata: tables of finite grammars, by which a device follows them without the host."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary, WeakSet

from grammars.device_tables import DeviceBudget, TabledGrammar
from grammars.errors import GrammarError

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.device_tables import DeviceTables

logger = logging.getLogger(__name__)

_GRAMMARS_AT_ONCE: Final = 8
"""That many grammars of the largest size are on the device together."""


class DeviceAutomata:
    """Made once for each grammar, kept as long as it is; thread-safe.

    The cache of grammars keeps one object for each spec, so the grammar itself is the key.

    Args:
        max_bytes: of all tables; those that were not asked for longest go first, and are made again
            when they are wanted.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        most = DeviceBudget()
        self._budget = DeviceBudget(
            most.max_states, min(most.max_bytes, max_bytes // _GRAMMARS_AT_ONCE)
        )
        self._lock = threading.Lock()
        self._tables: WeakKeyDictionary[object, DeviceTables] = WeakKeyDictionary()  # oldest first
        self._without: WeakSet[object] = WeakSet()  # not finite, or being made

    def find(self, grammar: object) -> DeviceTables | None:
        """The tables of a grammar, if it has any and they are made."""
        if not isinstance(grammar, TabledGrammar):
            return None
        with self._lock:
            tables = self._tables.pop(grammar, None)
            if tables is not None:
                self._tables[grammar] = tables
            return tables

    def begin(self, grammar: object) -> bool:
        """Whether the tables must still be made, by the caller with `make`."""
        with self._lock:
            if grammar in self._tables or grammar in self._without:
                return False
            self._without.add(grammar)
            return True

    def make(self, grammar: object, goes_on: Callable[[], bool]) -> None:
        """Make the tables of a grammar, in any thread; see `TabledGrammar`."""
        if not isinstance(grammar, TabledGrammar):
            return
        try:
            tables = grammar.device_tables(self._budget, goes_on)
        except GrammarError as error:  # a text that comes there is told
            logger.debug("a grammar has no tables for the device: %s", error)
            return
        if tables is None:
            return
        with self._lock:
            self._without.discard(grammar)
            self._tables[grammar] = tables
            num_bytes = sum(kept.num_bytes for kept in self._tables.values())
            for oldest in list(self._tables)[:-1]:
                if num_bytes <= self._max_bytes:
                    break
                num_bytes -= self._tables.pop(oldest).num_bytes
