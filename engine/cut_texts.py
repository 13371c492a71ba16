"""CutTexts: what texts lacked when the token limit cut them, found beside the step loop."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from engine.thread_priority import give_way

if TYPE_CHECKING:
    from engine.constraint import Constraint

logger = logging.getLogger(__name__)

_TIMEOUT_S: Final = 1.0
"""The end of an answer waits for the count, a few milliseconds as a rule."""

_MAX_STATES: Final = 256
"""Places of the grammar that are looked at. Each takes up to a millisecond, in which the step loop
competes for the interpreter and waits for the grammar, where another text is bound to it."""


class CutTexts:
    """Counts in one thread of low priority; what takes too long is not reported."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "tightrope-cut-texts", initializer=give_way)

    async def num_missing_tokens(self, constraint: Constraint) -> int | None:
        """How many more tokens would surely have completed the text, 0 where it was complete.

        Args:
            constraint: at the end of the text; the engine is done with it.

        Returns:
            None where the constraint cannot find it, or only by looking at much of the grammar.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                return await loop.run_in_executor(
                    self._thread, constraint.min_tokens_to_complete, _MAX_STATES
                )
        except TimeoutError:
            return None
        except Exception as error:  # noqa: BLE001  # a constraint may raise anything; the text stands
            logger.info("what a cut text lacked is unknown: %s", error)
            return None

    def close(self) -> None:
        """End the thread; counts that wait are dropped."""
        self._thread.shutdown(wait=False, cancel_futures=True)
