"""OTHER_BUDGET_NAMES: what other servers call `thinking_token_budget`; refused, with our name."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

OTHER_BUDGET_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "thinking_budget": "use thinking_token_budget",
        "thinking_budget_tokens": "use thinking_token_budget",
        "reasoning_budget": "use thinking_token_budget",
        "reasoning_budget_tokens": "use thinking_token_budget",
        "max_thinking_tokens": "use thinking_token_budget",
        "max_reasoning_tokens": "use thinking_token_budget",
    }
)
