"""Template variables that a request may set, by `chat_template_kwargs` or fields of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from server.request_errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from server.wire.chat_request import ChatCompletionRequest

_ALLOWED: Final[Mapping[str, type]] = {
    "enable_thinking": bool,
    "thinking": bool,
    "preserve_thinking": bool,
    "reasoning_effort": str,
    "verbosity": str,
}
_MAX_TEXT_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class TemplateVariables:
    """What a request sets.

    Args:
        values: name -> value, of the variables that the template looks at.
        ignored: request fields that it does not look at.
    """

    values: Mapping[str, object]
    ignored: tuple[str, ...]


def template_variables(
    request: ChatCompletionRequest, reads: Callable[[str], bool]
) -> TemplateVariables:
    """The variables of a request; one that is set in two ways takes what the caller spelled out.

    Args:
        request: the typed body.
        reads: whether the template looks at a variable.

    Raises:
        InvalidValueError: a variable is not allowed, or of the wrong type.
    """
    values: dict[str, object] = {}
    ignored: list[str] = []
    for name, value in (request.chat_template_kwargs or {}).items():
        _check(name, value)
        if reads(name):
            values[name] = value
        else:
            ignored.append(f"chat_template_kwargs.{name}")
    if request.reasoning_effort == "none" and reads("enable_thinking"):
        values.setdefault("enable_thinking", False)
    elif request.reasoning_effort == "none" and reads("thinking"):
        values.setdefault("thinking", False)
    elif request.reasoning_effort is not None and reads("reasoning_effort"):
        values.setdefault("reasoning_effort", request.reasoning_effort)
    elif request.reasoning_effort is not None:
        ignored.append("reasoning_effort")
    if request.verbosity is not None and reads("verbosity"):
        values.setdefault("verbosity", request.verbosity)
    elif request.verbosity is not None:
        ignored.append("verbosity")
    return TemplateVariables(values, tuple(ignored))


def _check(name: str, value: object) -> None:
    kind = _ALLOWED.get(name)
    if kind is None:
        raise InvalidValueError(
            "chat_template_kwargs",
            f"{name[:64]!r} is not allowed; allowed are {', '.join(_ALLOWED)}",
        )
    if not isinstance(value, kind) or (isinstance(value, str) and len(value) > _MAX_TEXT_CHARS):
        param = f"chat_template_kwargs.{name}"
        raise InvalidValueError(param, f"a short {kind.__name__} is needed")
