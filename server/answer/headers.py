"""Response headers that name what of a request had no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from server.chat.thinking import Thinking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.admission import AdmittedChat
    from server.wire.translation import Translation

_MAX_NAMED = 20
_SWITCHES = ("chat_template_kwargs.enable_thinking", "chat_template_kwargs.thinking")


def effect_headers(ignored: Sequence[str], unknown: Sequence[str]) -> dict[str, str]:
    """Known fields without effect are named as ignored, those that nobody knows as unknown."""
    headers = {}
    if ignored:
        headers["x-tightrope-ignored"] = _names(ignored)
    if unknown:
        headers["x-tightrope-unknown"] = _names(unknown)
    return headers


def translated_headers(translation: Translation, chat: AdmittedChat) -> dict[str, str]:
    """The same for a request that came to another endpoint, in the words of its caller."""
    ignored = [*translation.ignored]
    does_think = chat.thinking is not Thinking.NONE
    if translation.thinks is not None and translation.thinks != does_think:
        ignored.append(translation.thinking_name)
    for name in chat.ignored:
        if name == "reasoning_effort" and translation.thinks is not False:
            ignored.append(translation.effort_name)
        elif name not in ("reasoning_effort", *_SWITCHES):
            ignored.append(translation.names.get(name, name))
    return effect_headers(ignored, translation.unknown)


def _names(names: Sequence[str]) -> str:
    shown = [quote(name[:64], safe="[]._-") for name in names[:_MAX_NAMED]]
    rest = [f"and {len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join(shown + rest)
