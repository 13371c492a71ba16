"""GrammarErrors across the process border: the class by its name, and what it was made from."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from grammars import errors
from server.engine_process.messages import CompileRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOCATED: Final[Mapping[str, type]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            errors.UnsupportedError,
            errors.InvalidGrammarError,
            errors.UnsatisfiableError,
        )
    }
)
_WORDED: Final[Mapping[str, type[errors.GrammarError]]] = MappingProxyType(
    {kind.__name__: kind for kind in (errors.VocabularyError, errors.BackendError)}
)


def refusal_message(grammar_id: int, error: errors.GrammarError) -> CompileRefused:
    """The message that carries an error; a kind that is not in the tables goes as its base."""
    if isinstance(error, errors.LimitExceededError):
        arguments: tuple[object, ...] = (error.limit, error.allowed, error.what)
        return CompileRefused(grammar_id, errors.LimitExceededError.__name__, arguments)
    for kind in _LOCATED.values():
        if isinstance(error, kind):
            located = (error.reason, error.pointer, error.keyword, error.place)  # type: ignore[attr-defined]  # all of these have them
            return CompileRefused(grammar_id, kind.__name__, located)
    return CompileRefused(grammar_id, type(error).__name__, (str(error),))


def refusal_error(message: CompileRefused) -> errors.GrammarError:
    """The error that a message carries."""
    if message.kind == errors.LimitExceededError.__name__:
        limit, allowed, what = message.arguments
        return errors.LimitExceededError(str(limit), int(str(allowed)), str(what))
    if (located := _LOCATED.get(message.kind)) is not None:
        reason, pointer, keyword, place = message.arguments
        error = located(reason, pointer=pointer, keyword=keyword, place=place)
        assert isinstance(error, errors.GrammarError)
        return error
    kind = _WORDED.get(message.kind, errors.GrammarError)
    return kind(str(message.arguments[0]))
