"""Logs: plain or as JSON lines, each with the id of the request that it is about."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

import msgspec

LogFormat: TypeAlias = Literal["text", "json"]

ROOMS: Final = ("engine", "grammars", "server")
"""The loggers whose level is set; other packages keep to warnings."""

request_id_of_task: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Set by the gate for everything that is done for a request."""

_PLAIN: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, request_id, fields, exception.

    `fields` are those of a call's `extra={"fields": {...}}`.
    """

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (request_id := request_id_of_task.get()) is not None:
            entry["request_id"] = request_id
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry, enc_hook=str).decode(errors="replace")


def set_up_logging(level: str, log_format: LogFormat) -> None:
    """Log to standard error.

    Args:
        level: of the rooms; others log from warnings on.
        log_format: text or json.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if log_format == "json" else logging.Formatter(_PLAIN))
    logging.basicConfig(handlers=[handler], force=True)
    for room in ROOMS:
        logging.getLogger(room).setLevel(level.upper())
