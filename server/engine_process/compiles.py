"""PendingCompiles: who waits for which grammar that the engine's process compiles."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING

from server.engine_process.messages import Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.engine_process.channel import Channel
    from server.engine_process.remote import RemoteGrammar


class PendingCompiles:
    """Between the engine's process and the tasks that wait for its grammars, on one event loop."""

    def __init__(self) -> None:
        self._ids = itertools.count()
        self._answers: dict[int, asyncio.Future[RemoteGrammar]] = {}

    @contextmanager
    def begin(self, channel: Channel) -> Iterator[tuple[int, asyncio.Future[RemoteGrammar]]]:
        """Wait for a grammar inside; who leaves without it has it released.

        Args:
            channel: to the process that compiles it.

        Yields:
            The id of the grammar, a new one, and the grammar as it will come.
        """
        grammar_id = next(self._ids)
        answer: asyncio.Future[RemoteGrammar] = asyncio.get_running_loop().create_future()
        self._answers[grammar_id] = answer
        try:
            yield grammar_id, answer
        finally:
            del self._answers[grammar_id]
            if not answer.done() or answer.cancelled():
                channel.send(Release(grammar_id))

    def succeed(self, grammar: RemoteGrammar) -> None:
        """Hand over a grammar; it is released where nobody waits for it any more."""
        answer = self._waiting(grammar.grammar_id)
        if answer is not None:
            answer.set_result(grammar)

    def fail(self, grammar_id: int, error: Exception) -> None:
        """Tell who waits for a grammar that it will not come."""
        answer = self._waiting(grammar_id)
        if answer is not None:
            answer.set_exception(error)

    def fail_all(self, error: Exception) -> None:
        """Tell everybody who waits that nothing more will come."""
        for grammar_id in self._answers:
            self.fail(grammar_id, error)

    def _waiting(self, grammar_id: int) -> asyncio.Future[RemoteGrammar] | None:
        answer = self._answers.get(grammar_id)
        return None if answer is None or answer.done() else answer
