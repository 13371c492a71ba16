"""Response headers that name what of a request had no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_NAMED = 20


def effect_headers(ignored: Sequence[str], unknown: Sequence[str]) -> dict[str, str]:
    """Known fields without effect are named as ignored, those that nobody knows as unknown."""
    headers = {}
    if ignored:
        headers["x-tightrope-ignored"] = _names(ignored)
    if unknown:
        headers["x-tightrope-unknown"] = _names(unknown)
    return headers


def _names(names: Sequence[str]) -> str:
    shown = [quote(name[:64], safe="[]._-") for name in names[:_MAX_NAMED]]
    rest = [f"and {len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join(shown + rest)
