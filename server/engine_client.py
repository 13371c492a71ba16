"""EngineClient: what the server needs of the engine; `AsyncEngine` has its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from engine.output import RequestOutput
    from engine.request import Request
    from engine.stats import EngineStats


class EngineClient(Protocol):
    """Generates sequences; one for each request of ours, n for a chat with n choices."""

    def check_request(self, request: Request) -> None:
        """Refuse a request that could never run, before anything is sent to a client.

        Raises:
            InvalidRequestError: names the field and the way out.
        """
        ...

    def generate(self, request: Request) -> AsyncGenerator[RequestOutput, None]:
        """The outputs of one sequence, the last with a finish reason.

        Closing the generator, or cancelling the task that waits for it, aborts the sequence.

        Raises:
            InvalidRequestError: at the first step, if the request could never run.
            EngineDeadError: the engine has stopped.
        """
        ...

    def stats(self) -> EngineStats:
        """Gauges and counters of this moment."""
        ...

    @property
    def is_alive(self) -> bool:
        """Whether the step loop runs."""
        ...
