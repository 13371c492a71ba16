"""Which fields of a Messages request are taken without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from server.wire.anthropic.blocks import RedactedThinkingBlock
from server.wire.anthropic.request import ThinkingConfig
from server.wire.base import WireModel

if TYPE_CHECKING:
    from collections.abc import Iterator

_IGNORED: Final = frozenset(
    {
        "allowed_callers",
        "betas",
        "billing_policy",
        "cache_control",
        "caller",
        "citations",
        "context_management",
        "defer_loading",
        "diagnostics",
        "display",
        "fallback_credit_token",
        "fallbacks",
        "inference_geo",
        "input_examples",
        "metadata",
        "service_tier",
        "speed",
        "user_profile_id",
        "workspace_id",
    }
)


def ignored_fields(request: WireModel) -> tuple[str, ...]:
    """The paths of such fields, each once and without indexes, as `tools.cache_control`."""
    return tuple(dict.fromkeys(_ignored_in(request, "")))


def _ignored_in(value: object, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _ignored_in(item, path)
    if isinstance(value, RedactedThinkingBlock):
        yield f"{path}.redacted_thinking"
    if isinstance(value, ThinkingConfig) and value.type != "enabled":
        yield from () if value.budget_tokens is None else (f"{path}.budget_tokens",)
    if not isinstance(value, WireModel):
        return
    for name in type(value).model_fields:
        inner = getattr(value, name)
        inner_path = f"{path}.{name}" if path else name
        if name in _IGNORED and inner is not None:
            yield inner_path
        else:
            yield from _ignored_in(inner, inner_path)
