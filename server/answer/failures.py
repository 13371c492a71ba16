"""What a stream says of a failure, once it has begun."""

from __future__ import annotations

import logging

from server.errors import InternalError, ServerError

_log = logging.getLogger(__name__)


def told_failure(error: Exception, answer_id: str) -> ServerError:
    """The error to send: one of ours as it is; of others the id alone, and the log has the rest."""
    if isinstance(error, ServerError):
        return error
    _log.error("%s: unexpected error in the stream", answer_id, exc_info=error)
    return InternalError(f"An error of the server; its log has it under {answer_id}")
