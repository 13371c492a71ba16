"""The search for further ways past earlier texts ends, however many ways there are."""

from __future__ import annotations

from typing import Any

from grammars.masks.distinct_walk import DistinctFrame, DistinctPoint, DistinctWalk
from grammars.masks.reference import PlainConfiguration

PLAIN = PlainConfiguration(1, 1, 0, False, ())
CURSOR: Any = object()
FREE = DistinctPoint(PLAIN, (DistinctFrame(0, has_keys=True, is_open=False),))
AMONG_EARLIER = DistinctPoint(PLAIN, (DistinctFrame(0, has_keys=True, cursors=(CURSOR,)),))


class CountlessWays(DistinctWalk):
    """From each point 200 bytes lead to free ones that all tell the same, and one goes on."""

    def __init__(self) -> None:
        self.num_tried = 0

    def _likely_bytes(self, point: DistinctPoint) -> Any:
        return range(201)

    def read_symbol(self, point: DistinctPoint, symbol: int) -> DistinctPoint:
        self.num_tried += 1
        return AMONG_EARLIER if symbol == 200 else FREE


def test_ways_that_tell_nothing_new_are_given_up():
    walk = CountlessWays()
    assert walk.count_ways(AMONG_EARLIER, 16) == 1
    assert walk.num_tried < 1_000
