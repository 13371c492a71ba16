"""OutputClock: how long the outputs of a choice are apart."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.output import RequestOutput
    from server.generation_metrics import GenerationMetrics


class OutputClock:
    """Times between the outputs of one choice.

    Args:
        metrics: told of each.
        num_prompt_tokens: of the choice's prompt.
    """

    def __init__(self, metrics: GenerationMetrics, num_prompt_tokens: int) -> None:
        self._metrics = metrics
        self._num_prompt_tokens = num_prompt_tokens
        self._last = time.perf_counter()
        self.has_begun = False

    def observe(self, output: RequestOutput) -> None:
        """An output has come."""
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        if not self.has_begun:
            self.has_begun = True
            self._metrics.first_token_seconds.observe(seconds)
            self._metrics.prefix_cache_queries.inc(self._num_prompt_tokens)
            self._metrics.prefix_cache_hits.inc(output.num_cached_tokens)
        elif output.token_ids:
            each = seconds / len(output.token_ids)
            for _ in output.token_ids:
                self._metrics.inter_token_seconds.observe(each)
