"""GrammarWarmer: makes ahead what texts of a grammar will need, while nothing is compiled."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from engine.thread_priority import give_way
from grammars.errors import GrammarError
from grammars.protocol import ExpandableGrammar

if TYPE_CHECKING:
    from engine.pacing import Pacer
    from grammars.protocol import CompiledGrammar
    from server.device_automata import DeviceAutomata

logger = logging.getLogger(__name__)

_MAX_WAITING: Final = 16
"""Grammars that may wait to be expanded; beyond it their texts do it themselves."""

_WORK_S: Final = 0.001
_PAUSE_S: Final = 0.001
"""Python's locks are not fair: without pauses, those who need the tables would wait for the end."""


class GrammarWarmer:
    """A thread in which grammars are expanded while their prompts are read; see `hold`.

    Args:
        num_actions: expanded of each grammar at most; 0 for none.
        pacer: says when to work.
        automata: gets the tables of finite grammars; None: nobody follows them.
    """

    def __init__(
        self, num_actions: int, pacer: Pacer, automata: DeviceAutomata | None = None
    ) -> None:
        self._pacer = pacer
        self._num_actions = num_actions
        self._automata = automata
        self._thread = ThreadPoolExecutor(1, "grammar-warmer", initializer=give_way)
        self._known: WeakSet[ExpandableGrammar] = WeakSet()
        self._num_waiting = 0
        self._paused_at = 0.0
        self._may_go_on = threading.Event()
        self._may_go_on.set()
        self._is_closed = False

    def warm(self, grammar: CompiledGrammar) -> None:
        """Let a grammar be expanded, once and some time later; grammars that cannot be are left."""
        if self._num_waiting == _MAX_WAITING or not isinstance(grammar, ExpandableGrammar):
            return
        num_actions = 0 if grammar in self._known else self._num_actions
        automata = self._automata
        if automata is not None and not automata.begin(grammar):
            automata = None
        if num_actions or automata is not None:
            self._known.add(grammar)
            self._num_waiting += 1
            self._thread.submit(self._warm, grammar, num_actions, automata)

    def hold(self) -> None:
        """Expand nothing until `release`: somebody waits for a compile."""
        self._may_go_on.clear()

    def release(self) -> None:
        """Go on."""
        self._may_go_on.set()

    def close(self) -> None:
        """End the thread; what waits is dropped."""
        self._is_closed = True
        self.release()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _warm(
        self, grammar: ExpandableGrammar, num_actions: int, automata: DeviceAutomata | None
    ) -> None:
        """In the thread."""
        self._num_waiting -= 1
        try:
            if num_actions:
                grammar.warm(num_actions, self._goes_on)
            if automata is not None:
                automata.make(grammar, self._goes_on)
        except GrammarError as error:  # a text that comes there is told
            logger.debug("a grammar was not expanded ahead: %s", error)
        except Exception:
            logger.exception("a grammar failed to expand ahead")

    def _goes_on(self) -> bool:
        """Before each action: whether to go on, when others have had their turn."""
        if time.monotonic() - self._paused_at > _WORK_S:
            time.sleep(_PAUSE_S)
            self._paused_at = time.monotonic()
        self._may_go_on.wait()
        self._pacer.pause()
        return not self._is_closed
