"""CountedCalls: how often a method is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


class CountedCalls:
    """Counts from its making to the end of the test; the method does what it does.

    Args:
        monkeypatch: takes the counter away again.
        owner: the class.
        name: of its method.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        self.num_calls = 0
        method = getattr(owner, name)

        def counting(*arguments: Any, **options: Any) -> Any:
            self.num_calls += 1
            return method(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)
