"""Waiters: who waits for the outputs of which request, on one event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from engine.errors import EngineDeadError, InvalidRequestError
from engine.output import RequestOutput

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

Delivery: TypeAlias = RequestOutput | InvalidRequestError | EngineDeadError


class Waiters:
    """Between an engine that is elsewhere and the tasks that iterate its outputs.

    An id is free again when the engine has let go of it, not when its caller went away.

    Args:
        abort: asks the engine to end a request; its last output comes all the same.
    """

    def __init__(self, abort: Callable[[str], None]) -> None:
        self._abort = abort
        self._queues: dict[str, asyncio.Queue[Delivery]] = {}

    def __len__(self) -> int:
        """Requests whose last output has not come."""
        return len(self._queues)

    async def outputs(
        self, request_id: str, begin: Callable[[], None]
    ) -> AsyncGenerator[RequestOutput, None]:
        """Begin a request and yield its outputs, the last one with a finish reason.

        Closing the generator, or cancelling the task that iterates it, aborts the request.

        Args:
            request_id: its id.
            begin: hands it to the engine; called at the first step, what it raises is raised.

        Raises:
            InvalidRequestError: the id is in use, or the engine refuses the request.
            EngineDeadError: the engine has stopped before the request ends.
        """
        if request_id in self._queues:
            raise InvalidRequestError("request_id", f"{request_id} is in use")
        begin()
        queue = self._queues[request_id] = asyncio.Queue()
        try:
            while True:
                delivery = await queue.get()
                if not isinstance(delivery, RequestOutput):
                    raise delivery
                yield delivery
                if delivery.finish_reason is not None:
                    return
        finally:
            # Where the last output has come already, the id may belong to another by now.
            if self._queues.get(request_id) is queue:
                self._abort(request_id)

    def deliver(self, request_id: str, delivery: Delivery) -> None:
        """Hand over an output of the engine's; nobody waits after `fail_all`."""
        queue = self._queues.get(request_id)
        if queue is None:
            return
        if not isinstance(delivery, RequestOutput) or delivery.finish_reason is not None:
            del self._queues[request_id]
        queue.put_nowait(delivery)

    def fail_all(self, error: EngineDeadError) -> None:
        """Tell everybody who waits that nothing more will come."""
        for queue in self._queues.values():
            queue.put_nowait(error)
        self._queues.clear()
