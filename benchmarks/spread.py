"""Spread: mean and percentiles of many times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


STATISTICS: Final = ("mean", "p50", "p90", "p99", "p99_9", "max")
"""The fields of a Spread, in the order of tables and figures."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, percentiles (linear between neighbours) and maximum, in the unit of the times."""

    mean: float
    p50: float
    p90: float
    p99: float
    p99_9: float
    max: float

    @classmethod
    def of(cls, times: Sequence[float] | NDArray[np.float64]) -> Spread:
        """The spread of at least one time."""
        values = np.asarray(times, np.float64)
        p50, p90, p99, p99_9 = np.percentile(values, [50, 90, 99, 99.9])
        return cls(*map(float, (values.mean(), p50, p90, p99, p99_9, values.max())))
