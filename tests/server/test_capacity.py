"""Requests are shed by how many would wait, not by how many have come since the last step."""

from __future__ import annotations

import pytest

from engine.stats import EngineCounters, EngineStats
from server.admission import check_capacity
from server.config import ServerConfig
from server.errors import OverloadedError
from tests.support.chat_server import make_services


@pytest.mark.parametrize(
    ("max_running", "num_running", "num_waiting", "num_choices", "is_admitted"),
    [
        (9, 0, 12, 1, True),  # a burst: nine of them will not wait
        (9, 0, 13, 1, False),
        (9, 0, 0, 13, True),
        (9, 0, 0, 14, False),
        (9, 9, 3, 1, True),
        (9, 9, 4, 1, False),
        (0, 0, 3, 1, True),  # an engine that has not said how many may run
        (0, 0, 4, 1, False),
        (0, 2, 4, 1, False),
    ],
)
def test_who_finds_a_free_place_does_not_wait(
    monkeypatch, max_running, num_running, num_waiting, num_choices, is_admitted
):
    services = make_services(None, config=ServerConfig(max_waiting_requests=4))
    stats = EngineStats(num_running, num_waiting, 1, 1, EngineCounters(), max_running=max_running)
    monkeypatch.setattr(services.engine, "stats", lambda: stats)
    if is_admitted:
        check_capacity(services, num_choices)
        return
    with pytest.raises(OverloadedError, match="Already max_waiting_requests=4 are waiting"):
        check_capacity(services, num_choices)
