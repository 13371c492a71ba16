"""SoakWatch: queue and memory of a server, sampled twice a second under load."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import httpx
import psutil

if TYPE_CHECKING:
    from benchmarks.serve_client import Target

_PERIOD_S: Final = 0.5
_GAUGE: Final = r"^vllm:num_requests_{}\S* (\S+)$"


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading.

    Args:
        at_s: seconds since the watch began.
        num_running: sequences that generate.
        num_waiting: sequences in the queue.
        memory_mb: of the whole process tree.
    """

    at_s: float
    num_running: int
    num_waiting: int
    memory_mb: float


class SoakWatch:
    """Samples in a thread of its own, within the block.

    Args:
        target: the server.
        process_id: of its root.
        max_running: sequences that it lets generate at the same time.

    Attributes:
        samples: all readings so far.
    """

    def __init__(self, target: Target, process_id: int, max_running: int) -> None:
        self._url = f"{target.url.removesuffix('/v1')}/metrics"
        self._process_id = process_id
        self._max_running = max_running
        self._began = time.monotonic()
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.samples: list[Sample] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._has_ended.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def most_waiting(self, begin_s: float) -> int:
        """The longest queue since then, without those for whom there is a place already."""
        queues = [
            one.num_waiting - max(0, self._max_running - one.num_running)
            for one in self.samples
            if one.at_s >= begin_s
        ]
        return max([0, *queues])

    def memory_mb(self) -> float:
        """Of this moment."""
        parent = psutil.Process(self._process_id)
        tree = [parent, *parent.children(recursive=True)]
        return float(sum(process.memory_info().rss for process in tree) / 2**20)

    def _run(self) -> None:
        with httpx.Client(timeout=30) as client:
            while not self._has_ended.wait(_PERIOD_S):
                text = client.get(self._url).text
                running, waiting = (_gauge(name, text) for name in ("running", "waiting"))
                self.samples.append(Sample(self.seconds, running, waiting, self.memory_mb()))


def _gauge(name: str, text: str) -> int:
    found = re.search(_GAUGE.format(name), text, re.MULTILINE)
    assert found is not None, f"/metrics does not tell {name}"
    return int(float(found[1]))
