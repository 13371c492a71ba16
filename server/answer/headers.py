"""Response headers that name what of a request binds the answer, and what had no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from server.chat.thinking import Thinking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.admission import AdmittedChat
    from server.wire.translation import Translation

_MAX_NAMED = 20
_SWITCHES = ("chat_template_kwargs.enable_thinking", "chat_template_kwargs.thinking")


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
    return effect_headers(
        [names.get(name, name) for name in chat.ignored],
        chat.unknown,
        [names.get(name, name) for name in chat.enforced],
    )


def translated_headers(translation: Translation, chat: AdmittedChat) -> dict[str, str]:
    """Those of a request that came in another API, in the words of its caller."""
    names, ignored = translation.names, [*translation.ignored]
    does_think = chat.thinking is not Thinking.NONE
    if translation.thinks is not None and translation.thinks != does_think:
        ignored.append(translation.thinking_name)
    for name in chat.ignored:
        if name == "reasoning_effort" and translation.thinks is not False:
            ignored.append(translation.effort_name)
        elif name not in ("reasoning_effort", *_SWITCHES):
            ignored.append(names.get(name, name))
    enforced = [names.get(name, name) for name in chat.enforced]
    return effect_headers(ignored, translation.unknown, enforced)


def _names(names: Sequence[str]) -> str:
    shown = [quote(name[:64], safe="[]._-") for name in names[:_MAX_NAMED]]
    rest = [f"and {len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join(shown + rest)
