"""Neighbours: how grammars that take long to compile affect eight streams."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any, Final

import httpx

from benchmarks.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from benchmarks.serve_client import Target

NUM_STREAMS: Final = 8
_NUM_ROUNDS: Final = 2
_NUM_MEMBERS: Final = 2_000
"""Required ones, of every other thing that compiles: a large schema."""

_NUM_RULES: Final = 40_000
"""Of the others: GBNF like the slowest case of the hostile corpus, a second of processor time."""


class _Stream:
    """Reads one answer after another, and notes when each piece came.

    Attributes:
        times: of the pieces of each answer, `time.perf_counter`.
        has_begun: set with the first piece.
    """

    def __init__(self) -> None:
        self.times: list[list[float]] = []
        self.has_begun = asyncio.Event()

    async def read(self, client: httpx.AsyncClient, url: str, body: dict[str, Any]) -> None:
        """Until cancelled."""
        while True:
            times: list[float] = []
            self.times.append(times)
            async with client.stream("POST", url, json=body) as answer:
                answer.raise_for_status()
                async for line in answer.aiter_lines():
                    if line.startswith("data: {"):
                        self.has_begun.set()
                        times.append(time.perf_counter())

    def gaps_ms(self, begin: float, end: float) -> list[float]:
        """Milliseconds between two pieces of one answer that both came in this span."""
        spans = [[at for at in times if begin <= at <= end] for times in self.times]
        return [
            1e3 * (later - earlier)
            for times in spans
            for earlier, later in itertools.pairwise(times)
        ]


def measure_neighbours(target: Target, seconds: float, timeout_s: float) -> tuple[Spread, Spread]:
    """Milliseconds between two tokens of a stream, alone and beside compiles, in turns.

    Args:
        target: a server that is idle.
        seconds: of each of both, over all turns.
        timeout_s: of each request.

    Raises:
        httpx.HTTPError: a request was refused, or failed.
    """
    return asyncio.run(_measure(target, seconds / _NUM_ROUNDS, timeout_s))


async def _measure(target: Target, seconds: float, timeout_s: float) -> tuple[Spread, Spread]:
    alone: list[float] = []
    beside: list[float] = []
    num_compiled = itertools.count()

    async def compile_all() -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            await _compile(client, target, next(num_compiled))

    async with httpx.AsyncClient(timeout=timeout_s) as client:
        for _ in range(_NUM_ROUNDS):
            alone += await _gaps_beside(asyncio.sleep(seconds), client, target)
            beside += await _gaps_beside(compile_all(), client, target)
    return Spread.of(alone), Spread.of(beside)


async def _gaps_beside(
    work: Coroutine[None, None, None], client: httpx.AsyncClient, target: Target
) -> list[float]:
    """Milliseconds between the pieces of streams that all begin anew: longer texts take longer."""
    url = f"{target.url}/chat/completions"
    said = {"messages": [{"role": "user", "content": "Tell a long story."}]}
    body = said | {"model": target.model, "stream": True, "max_tokens": 1_000, "ignore_eos": True}
    streams = [_Stream() for _ in range(NUM_STREAMS)]
    async with asyncio.TaskGroup() as group:
        reading = [group.create_task(stream.read(client, url, body)) for stream in streams]
        for stream in streams:
            await stream.has_begun.wait()
        begin = time.perf_counter()
        await work
        end = time.perf_counter()
        for task in reading:
            task.cancel()
    return [gap for stream in streams for gap in stream.gaps_ms(begin, end)]


async def _compile(client: httpx.AsyncClient, target: Target, number: int) -> None:
    """Have a new grammar compiled."""
    body = {
        "model": target.model,
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 1,
        **(_rules(number) if number % 2 else _schema(number)),
    }
    (await client.post(f"{target.url}/chat/completions", json=body)).raise_for_status()


def _schema(number: int) -> dict[str, Any]:
    names = [f"member_{number}_{index}" for index in range(_NUM_MEMBERS)]
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "large", "schema": schema}}
    return {"response_format": form}


def _rules(number: int) -> dict[str, Any]:
    chain = (f'r{index} ::= "{number}" r{index + 1}' for index in range(_NUM_RULES))
    return {"guided_grammar": "\n".join(("root ::= r0", *chain, f'r{_NUM_RULES} ::= "end"'))}
