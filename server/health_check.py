"""`python -m server.health_check [PORT]`: exits with 0 if a server of this machine is alive.

It is what the container's HEALTHCHECK runs: by HTTP, or HTTPS where the server was started with a
certificate. That is not verified: it is the server's own, and its name is not that of the loopback.
"""

from __future__ import annotations

import http.client
import ssl
import sys
from http import HTTPStatus
from typing import Final

_HOST: Final = "127.0.0.1"
_TIMEOUT_S: Final = 2.0
DEFAULT_PORT: Final = 8000


def is_alive(port: int) -> bool:
    """Whether `/health` of a server on the loopback answers with 200."""
    unverified = ssl.create_default_context()
    unverified.check_hostname = False
    unverified.verify_mode = ssl.CERT_NONE
    plain = http.client.HTTPConnection(_HOST, port, timeout=_TIMEOUT_S)
    secured = http.client.HTTPSConnection(_HOST, port, timeout=_TIMEOUT_S, context=unverified)
    return _answers(plain) or _answers(secured)


def _answers(connection: http.client.HTTPConnection) -> bool:
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if is_alive(int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_PORT) else 1)
