"""How long the fuzzers run: a minute together by default, as much longer as FUZZ_FACTOR says."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

FACTOR = int(os.environ.get("FUZZ_FACTOR", "1"))


def examples(count: int) -> Any:
    """So many examples, times FUZZ_FACTOR; no clock decides, so slow machines pass too."""
    return settings(
        max_examples=count * FACTOR, deadline=None, suppress_health_check=list(HealthCheck)
    )
