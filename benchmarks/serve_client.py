"""Sends the work to a server, at a rate or a few at a time, and times every piece."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import jsonschema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.serve_work import Work


@dataclass(slots=True)
class Answer:
    """What became of one request. Times are in seconds.

    Args:
        kind: of its work.
        is_right: whether it ended whole and is what was asked for, by its schema.
        fault: why it is not right; "cut" where the token limit came first.
        first_s: from sending to the first piece; None: there was none.
        gaps_s: between pieces.
        total_s: from sending to the end.
        num_tokens: generated, as the server counts.
    """

    kind: str
    is_right: bool = False
    fault: str = ""
    first_s: float | None = None
    gaps_s: list[float] = field(default_factory=list)
    total_s: float = 0.0
    num_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """A server.

    Args:
        url: ends with /v1.
        model: the name to ask for.
        key: API key; None: none is sent.
    """

    url: str
    model: str
    key: str | None = None


async def send_all(
    target: Target,
    work: Sequence[Work],
    *,
    concurrency: int | None,
    rate: float | None,
    seed: int,
    timeout_s: float,
    on_answer: Callable[[], None],
) -> list[Answer]:
    """Send all requests and wait for their answers.

    Args:
        target: where.
        work: in this order.
        concurrency: requests under way at the same time at most; None: no bound.
        rate: requests a second, with exponential gaps (a Poisson process); None: at once.
        seed: of the gaps.
        timeout_s: of each request.
        on_answer: called at each end.
    """
    chance = random.Random(seed)
    room = asyncio.Semaphore(concurrency or len(work) or 1)
    headers = {} if target.key is None else {"authorization": f"Bearer {target.key}"}
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(headers=headers, timeout=timeout_s, limits=limits) as client:

        async def send(item: Work) -> Answer:
            async with room:
                answer = await _send(client, target, item)
            on_answer()
            return answer

        tasks = []
        for item in work:
            tasks.append(asyncio.create_task(send(item)))
            if rate is not None:
                await asyncio.sleep(chance.expovariate(rate))
        return list(await asyncio.gather(*tasks))


async def _send(client: httpx.AsyncClient, target: Target, work: Work) -> Answer:
    answer = Answer(work.kind)
    reply = _Reply()
    body = work.body | {
        "model": target.model,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    began = last = time.perf_counter()
    try:
        async with client.stream("POST", f"{target.url}/chat/completions", json=body) as response:
            if response.status_code != 200:
                answer.fault = f"HTTP {response.status_code}"
                return answer
            async for line in response.aiter_lines():
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                now = time.perf_counter()
                if reply.take(json.loads(line.removeprefix("data: "))):
                    if answer.first_s is None:
                        answer.first_s = now - began
                    else:
                        answer.gaps_s.append(now - last)
                    last = now
    except (httpx.HTTPError, ValueError) as error:
        answer.fault = type(error).__name__
        return answer
    finally:
        answer.total_s = time.perf_counter() - began
        answer.num_tokens = reply.num_tokens
    answer.fault = reply.fault(work)
    answer.is_right = not answer.fault
    return answer


class _Reply:
    """Collects the chunks of one stream."""

    def __init__(self) -> None:
        self.num_tokens = 0
        self._text = ""
        self._calls: dict[int, list[str]] = {}
        self._finish = ""
        self._error = ""

    def take(self, chunk: dict[str, Any]) -> bool:
        """Add a chunk; returns whether it held a piece of the answer."""
        if "error" in chunk:
            self._error = str(chunk["error"].get("message", "error"))[:100]
            return False
        self.num_tokens = (chunk.get("usage") or {}).get("completion_tokens", self.num_tokens)
        has_piece = False
        for choice in chunk["choices"]:
            delta = choice["delta"]
            self._finish = choice.get("finish_reason") or self._finish
            self._text += delta.get("content") or ""
            has_piece = has_piece or bool(delta.get("content"))
            for call in delta.get("tool_calls") or ():
                name, arguments = self._calls.setdefault(call["index"], ["", ""])
                name += call["function"].get("name") or ""
                arguments += call["function"].get("arguments") or ""
                self._calls[call["index"]] = [name, arguments]
                has_piece = True
        return has_piece

    def fault(self, work: Work) -> str:
        """What is wrong with the whole answer, "" where nothing is."""
        if self._error:
            return f"error in the stream: {self._error}"
        if not self._finish:
            return "no finish reason"
        if work.kind == "free":
            return "" if self._text else "empty"
        if self._finish == "length":
            return "cut"
        if work.kind == "document":
            return _schema_fault(self._text, work.schemas[""])
        if not self._calls:
            return "no call"
        faults = [
            _schema_fault(arguments, work.schemas[name])
            if name in work.schemas
            else f"unknown function {name!r}"
            for name, arguments in self._calls.values()
        ]
        return next(filter(None, faults), "")


def _schema_fault(text: str, schema: dict[str, Any]) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return "not JSON"
    error = next(jsonschema.Draft202012Validator(schema).iter_errors(value), None)
    return "" if error is None else f"not valid: {error.validator}"
