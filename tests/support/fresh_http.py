"""HTTP: each request over a connection of its own, and without reading the certificates of TLS."""

from __future__ import annotations

from typing import Final

import httpx

HTTP: Final = httpx.Client(
    verify=False,  # all servers are on the loopback, without TLS
    timeout=60,
    limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
)
"""For any thread. `httpx.post` makes a client each time, for 30 ms of a processor: more than most
requests of these tests, and the server under attack would have to share it."""
