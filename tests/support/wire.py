"""Raw connections: what the steps of a hostile wire case send, and what came back."""

from __future__ import annotations

import base64
import json
import re
import socket
import struct
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CHAT = "/v1/chat/completions"
_ABORT = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset
_QUIET_S = 0.3
"""Without a byte for so long, a connection that stays open counts as answered."""


@dataclass
class Heard:
    """What came back on one connection.

    Args:
        data: all bytes.
        was_closed: whether the server has closed it.
    """

    data: bytes = b""
    was_closed: bool = False

    @property
    def statuses(self) -> list[int]:
        """Of the answers, in order."""
        lines = self.data.split(b"HTTP/1.1 ")[1:]
        return [int(line[:3]) for line in lines]

    @property
    def num_whole(self) -> int:
        """Answers that have come whole; of those without a length none is."""
        count, rest = 0, self.data
        while True:
            head, _, rest = rest.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
            if length is None or len(rest) < int(length[1]):
                return count
            count, rest = count + 1, rest[int(length[1]) :]

    @property
    def body(self) -> bytes:
        """What stands behind the first head."""
        return self.data.partition(b"\r\n\r\n")[2]


class Connection:
    """One raw connection.

    Args:
        url: of the server.
        model: stands for "MODEL" in bodies.
        receive_buffer_bytes: how much the system takes of an answer that nobody reads; None: as
            much as it does.
    """

    def __init__(self, url: str, model: str, *, receive_buffer_bytes: int | None = None) -> None:
        address = urlsplit(url)
        assert address.hostname is not None
        assert address.port is not None
        self._socket = socket.socket()
        self._socket.settimeout(20)
        if receive_buffer_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self._socket.connect((address.hostname, address.port))
        self._model = json.dumps(model)
        self.heard = Heard()
        self.num_sent = 0
        self.num_requests = 1

    def send(self, data: bytes) -> None:
        """Send, as far as the server takes it."""
        with suppress(OSError):
            self._socket.sendall(data)
            self.num_sent += len(data)
            return
        self.heard.was_closed = True

    def send_request(self, body: str, headers: dict[str, str]) -> None:
        """A whole request to the chat."""
        data = body.replace('"MODEL"', self._model).encode()
        given = {"Host": "x", "Content-Type": "application/json", "Content-Length": str(len(data))}
        lines = [f"{name}: {value}\r\n" for name, value in (given | headers).items()]
        self.send(f"POST {CHAT} HTTP/1.1\r\n{''.join(lines)}\r\n".encode() + data)

    def trickle(self, text: str, pause_s: float) -> None:
        """A byte at a time, until the server closes."""
        for byte in text.replace('"MODEL"', self._model).encode("latin-1"):
            self.send(bytes([byte]))
            self.listen(pause_s)
            if self.heard.was_closed:
                return

    def listen(self, quiet_s: float = _QUIET_S, *, until: Callable[[], bool] | None = None) -> None:
        """Read until the server closes, or is quiet for so long, or `until` holds."""
        self._socket.settimeout(quiet_s)
        try:
            while until is None or not until():
                data = self._socket.recv(65536)
                if not data:
                    self.heard.was_closed = True
                    return
                self.heard.data += data
        except TimeoutError:
            pass
        except OSError:
            self.heard.was_closed = True

    def read_events(self, count: int) -> None:
        """Read until so many events of a stream have come."""
        self.listen(5, until=lambda: self.heard.data.count(b"data: ") >= count)

    def half_close(self) -> None:
        """Send no more, but listen."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def abort(self) -> None:
        """Go away with a reset."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
        self._socket.close()

    def close(self) -> None:
        """Go away in good order."""
        self._socket.close()


def run_steps(
    steps: Iterable[dict[str, Any]],
    connection: Connection,
    *,
    headers: dict[str, str],
    pause_s: float,
    send_case: Callable[[str], str],
) -> Heard:
    """Do what a wire case says on one connection.

    Args:
        steps: of the case; `connections`, `get` and `fill_slots` are not for a single connection.
        connection: fresh.
        headers: added to whole requests that name none.
        pause_s: between the bytes of what is sent slowly.
        send_case: the body of another case.
    """
    for step in steps:
        match step:
            case {"send": text}:
                connection.send(text.encode("latin-1"))
            case {"send_b64": text}:
                connection.send(base64.b64decode(text))
            case {"send_repeat": [text, times]}:
                _send_repeated(connection, text.encode(), times)
            case {"send_slowly": text}:
                connection.trickle(text, pause_s)
            case {"send_request": body}:
                connection.num_requests = step.get("times", 1)
                for _ in range(connection.num_requests):
                    connection.send_request(body, step.get("headers", headers))
            case {"send_case": name}:
                connection.send_request(send_case(name), headers)
            case {"read_events": count}:
                connection.read_events(count)
            case {"wait_s": seconds}:
                time.sleep(min(seconds, 2))
            case {"shutdown": "write"}:
                connection.half_close()
            case {"close": "rst"}:
                connection.abort()
                return connection.heard
            case _:
                raise ValueError(f"unknown step {step}")
    connection.listen(3.0, until=lambda: connection.heard.num_whole >= connection.num_requests)
    return connection.heard


def _send_repeated(connection: Connection, piece: bytes, times: int) -> None:
    """In blocks, and no more once the server has answered or closed."""
    per_block = max(1, 65536 // len(piece))
    for start in range(0, times, per_block):
        connection.send(piece * min(per_block, times - start))
        if connection.heard.was_closed:
            return
