"""Errors of the engine room.

EngineError
├── InvalidConfigError    an option of `EngineConfig` that cannot be honoured on this machine
├── ModelRefusedError     the model cannot be served exactly (attention guard, layer types, dtype)
├── InvalidRequestError   a request that could never run (empty prompt, too long, bad parameter)
├── RequestFailedError    a request that was run for its scores has failed
└── EngineDeadError       the step loop has ended; every waiting request gets this
"""

from __future__ import annotations


class EngineError(Exception):
    """Base of everything that engine/ raises on purpose; `str()` stands alone as a sentence."""


def failure_sentence(what: str, error: BaseException) -> str:
    """What a caller may read about an unexpected exception: its kind, not its text.

    The text may hold paths or other callers' data; whoever catches the exception logs it.
    """
    return f"{what} failed ({type(error).__name__}); the server's log has the details"


class InvalidConfigError(EngineError):
    """An engine option is refused at start.

    Args:
        option: the field of `EngineConfig` concerned.
        given: its value.
        reason: what is wrong and the way out, one sentence.
    """

    def __init__(self, option: str, given: object, reason: str) -> None:
        self.option = option
        self.given = given
        self.reason = reason
        super().__init__(f"{option}={given}: {reason}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.option, self.given, self.reason))


class ModelRefusedError(EngineError):
    """The model is refused at load because its outputs would not be provably right."""


class InvalidRequestError(EngineError):
    """The request is refused before it enters the queue.

    Args:
        parameter: the field of `Request` or `SamplingParams` concerned.
        reason: what is wrong and the way out, one sentence.
    """

    def __init__(self, parameter: str, reason: str) -> None:
        self.parameter = parameter
        self.reason = reason
        super().__init__(f"{parameter}: {reason}")


class RequestFailedError(EngineError):
    """A request that was run for its scores has failed or was aborted."""


class EngineDeadError(EngineError):
    """The engine's step loop has stopped."""
