"""Response headers that name what of a request binds the answer, and what had no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from server.chat.thinking import Thinking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.admitted_chat import AdmittedChat
    from server.wire.translation import Translation

_MAX_NAMED: Final = 20
_EFFORT: Final = "reasoning_effort"
_SWITCHES: Final = ("chat_template_kwargs.enable_thinking", "chat_template_kwargs.thinking")


def effect_headers(
    ignored: Sequence[str], unknown: Sequence[str], enforced: Sequence[str] = ()
) -> dict[str, str]:
    """The headers that are needed of these three.

    Args:
        ignored: known fields without effect.
        unknown: fields that nobody knows.
        enforced: fields that bind the answer.
    """
    named = {"enforced": enforced, "ignored": ignored, "unknown": unknown}
    return {f"x-tightrope-{kind}": _names(names) for kind, names in named.items() if names}


def chat_headers(chat: AdmittedChat, names: Mapping[str, str]) -> dict[str, str]:
    """Those of a request; `names`: of its fields, where another endpoint calls them otherwise."""
    ignored, enforced = (_renamed(fields, names) for fields in (chat.ignored, chat.enforced))
    return effect_headers(ignored, chat.unknown, enforced)


def translated_headers(translation: Translation, chat: AdmittedChat) -> dict[str, str]:
    """Those of a request that came in another API, in the words of its caller.

    The fields that turn thinking on or off are ours, so what of them had no effect is told of the
    caller's own.
    """
    names, ignored = translation.names, [*translation.ignored]
    does_think = chat.thinking is not Thinking.NONE
    if translation.thinks is not None and translation.thinks != does_think:
        ignored.append(translation.thinking_name)
    if _EFFORT in chat.ignored and translation.thinks is not False:
        ignored.append(translation.effort_name)
    others = [name for name in chat.ignored if name not in (_EFFORT, *_SWITCHES)]
    ignored += _renamed(others, names)
    return effect_headers(ignored, translation.unknown, _renamed(chat.enforced, names))


def _renamed(fields: Sequence[str], names: Mapping[str, str]) -> list[str]:
    return [names.get(field, field) for field in fields]


def _names(names: Sequence[str]) -> str:
    # An empty name has to be seen too: a header may not end with the space behind a comma.
    shown = [quote(name[:64], safe="[]._-") or '""' for name in names[:_MAX_NAMED]]
    rest = [f"and {len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join(shown + rest)
