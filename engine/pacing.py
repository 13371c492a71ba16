"""Pacer: threads that work on grammars leave the interpreter alone most of the time."""

from __future__ import annotations

import gc
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHARE: Final = 0.2
"""Processor seconds a second, of all paced threads together, while others generate."""

CREDIT_S: Final = 0.010
"""Processor time that may be used at once: most grammars compile within it, without a pause."""

SLICE_S: Final = 0.002
"""Processor time between two pauses. A step takes several times as long as such a pause or longer,
so each step meets about the same share."""

MOST_S: Final = 0.050
"""What a thread is charged for at most since it was last asked. Longer calls need no interpreter:
they are kernels."""


class Pacer:
    """Limits the share of the time in which threads work while others generate.

    While such a thread runs Python, the step loop has to wait for the interpreter after most of its
    tensor operations, and loses more time than the thread gains. A lower priority cannot help that.

    Args:
        is_busy: whether others generate now; called from any thread, every millisecond or so.
        clock: seconds.
        thread_clock: processor seconds of the calling thread.
        sleep: of the calling thread, for so many seconds.
    """

    def __init__(
        self,
        is_busy: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
        thread_clock: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._is_busy = is_busy
        self._clock = clock
        self._thread_clock = thread_clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._thread = threading.local()
        self._due = clock()  # when all the work so far has had its time, at the share

    def pause(self) -> None:
        """Charge this thread for its work since the last call, and sleep if the share is used up.

        The rate is limited as in cell networks (the generic cell rate algorithm, ITU-T I.371).
        """
        worked = min(self._worked(), MOST_S)
        with self._lock:
            now = self._clock()
            if not self._is_busy():
                self._due = now
                return
            self._due = max(self._due, now - CREDIT_S / SHARE) + worked / SHARE
            seconds = self._due - now
        if seconds >= SLICE_S / SHARE:
            self._sleep(seconds)

    @contextmanager
    def paced(self) -> Iterator[None]:
        """Call `pause` now and then while this thread is inside, wherever it is in its work.

        Python has no means to suspend a thread. But its collector calls back in the thread that has
        just made 700 containers more than it has freed: every few hundred microseconds, in all that
        makes lists, tuples or objects. While the thread sleeps there, no young objects are
        collected; that is made up for afterwards.

        What the thread has locked stays locked while it sleeps, so inside should be nothing that
        the step loop could wait for.
        """
        thread = threading.get_ident()

        def on_collection(phase: str, _info: dict[str, int]) -> None:
            if phase == "stop" and threading.get_ident() == thread:
                self.pause()

        self._worked()
        gc.callbacks.append(on_collection)
        try:
            yield
        finally:
            gc.callbacks.remove(on_collection)

    def _worked(self) -> float:
        """Processor seconds of this thread since it was last asked; 0 the first time."""
        now = self._thread_clock()
        before: float = getattr(self._thread, "asked_at", now)
        self._thread.asked_at = now
        return now - before
