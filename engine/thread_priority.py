"""give_way: threads that work on grammars leave the processors to those that generate."""

from __future__ import annotations

import os
import sys
import threading
from typing import Final

_NICENESS: Final = 5
"""A third of other threads' weight where processors are scarce, a whole one where they are not.

The step loop then keeps three quarters of a processor that a compile shares with it, and a compile
a quarter: enough for the longest to end within its time (decision 0028).
"""

_MOST_NICENESS: Final = 19


def give_way() -> None:
    """Lower the priority of the calling thread, on systems where threads have one of their own.

    It is counted from the process's own, which may be low: nobody may raise what was lowered.
    """
    if sys.platform == "linux":
        of_process = os.getpriority(os.PRIO_PROCESS, os.getpid())
        niceness = min(_MOST_NICENESS, of_process + _NICENESS)
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
