"""Logs: plain or as JSON lines, each with the id of the request that it is about."""

from __future__ import annotations

import logging
import uuid
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

import msgspec

LogFormat: TypeAlias = Literal["text", "json"]

ROOMS: Final = ("engine", "grammars", "server")
"""The loggers whose level is set; other packages keep to warnings."""

request_id_of_task: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Set by the gate for everything that is done for a request, also in the engine's process."""

_PLAIN: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How a process logs.

    Args:
        level: of the rooms, a name of Python's logging.
        log_format: text or json.
    """

    level: str
    log_format: LogFormat


def new_sequence_id() -> str:
    """A fresh id for a request to the engine; the HTTP request's stands before its last dash."""
    return f"{request_id_of_task.get() or 'seq'}-{uuid.uuid4().hex[:16]}"


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, request_id, fields, exception.

    `fields` are those of a call's `extra={"fields": {...}}`. The engine, which knows sequences
    alone, says `extra={"sequence_id": ...}`.
    """

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = request_id_of_task.get()
        if (sequence_id := getattr(record, "sequence_id", None)) is not None:
            entry["sequence_id"] = sequence_id
            request_id = request_id or sequence_id.rpartition("-")[0]
        if request_id is not None:
            entry["request_id"] = request_id
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry, enc_hook=str).decode(errors="replace")


def set_up_logging(settings: LogSettings) -> None:
    """Log to standard error; packages other than the rooms log from warnings on."""
    is_json = settings.log_format == "json"
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if is_json else logging.Formatter(_PLAIN))
    logging.basicConfig(handlers=[handler], force=True)
    for room in ROOMS:
        logging.getLogger(room).setLevel(settings.level.upper())


def log_settings() -> LogSettings:
    """How this process logs, for another one to do the same."""
    is_json = any(isinstance(one.formatter, JsonFormatter) for one in logging.root.handlers)
    level = logging.getLogger("engine").getEffectiveLevel()
    return LogSettings(logging.getLevelName(level), "json" if is_json else "text")
