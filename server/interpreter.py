"""share_interpreter: threads of a serving process hand the interpreter over soon."""

from __future__ import annotations

import sys
from typing import Final

_SWITCH_INTERVAL_S: Final = 5e-5
"""How long a thread may keep the interpreter while another waits for it (Python: 5 ms).

A step gives the interpreter away in each of its hundreds of tensor operations, and waits this long
to get it back while a grammar compiles; an event loop does so whenever it has waited for a socket.
"""


def share_interpreter() -> None:
    """Do so from now on, in all threads of this process."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
