"""RenderBudget: what one rendering of a chat template may still do, counted and not timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from server.errors import ServerError

if TYPE_CHECKING:
    from server.config import ServerConfig

_CHARS_PER_STEP: Final = 256
"""Characters that are compared, searched or copied in the time of a step, some 0.2 µs."""

_STEPS_PER_VALUE: Final = 2
_LISTS: Final = frozenset({list, tuple, type({}.keys()), type({}.values()), type({}.items())})

_CHARS_PER_ITEM: Final = 32
"""An item of a list takes the memory of so many characters."""


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """What one rendering may take; see `server.config.ServerConfig`.

    Args:
        max_template_steps: nodes of the template that are run, counted by whole bodies of loops
            and macros; the work of filters and methods is counted in them too.
        max_template_chars: characters of all texts and lists that it makes on the way.
    """

    max_template_steps: int
    max_template_chars: int

    @classmethod
    def of(cls, config: ServerConfig) -> RenderLimits:
        """As the server's settings have them."""
        return cls(config.max_template_steps, config.max_template_chars)


class RenderLimitError(ServerError):
    """A rendering takes more than it may: a fault of the template, or of how it grows with chats.

    Args:
        limit: name of the limit.
        allowed: its value.
    """

    def __init__(self, limit: str, allowed: int) -> None:
        self.limit = limit
        self.allowed = allowed
        super().__init__(
            f"the model's chat template takes more than {limit}={allowed}; shorten the messages, "
            "or use a model whose template does end"
        )


class RenderBudget:
    """Is used up by one rendering.

    Args:
        limits: what it may take.
    """

    def __init__(self, limits: RenderLimits) -> None:
        self._limits = limits
        self._num_steps = 0
        self._num_chars = 0

    def spend(self, num_steps: int, num_chars: int = 0) -> None:
        """Take from the budget; call it before the work is done.

        Raises:
            RenderLimitError: so much is not left.
        """
        self._num_steps += num_steps + num_chars // _CHARS_PER_STEP
        self._num_chars += num_chars
        if self._num_steps > self._limits.max_template_steps:
            raise RenderLimitError("max_template_steps", self._limits.max_template_steps)
        if self._num_chars > self._limits.max_template_chars:
            raise RenderLimitError("max_template_chars", self._limits.max_template_chars)

    def spend_items(self, num_items: int) -> None:
        """Take what a list of this length costs."""
        self.spend(num_items, num_items * _CHARS_PER_ITEM)

    def weigh(self, value: object) -> int:
        """Spend the steps of going through a value whole, as printing or comparing it does.

        A list may hold one list many times, and so on: the text of such a value is exponential.

        Returns:
            The characters of all texts in it, as often as they occur.
        """
        num_chars = num_steps = 0
        waiting: list[Any] = [value]
        while waiting:
            item = waiting.pop()
            num_steps += _STEPS_PER_VALUE
            if isinstance(item, str):
                num_chars += len(item)
                num_steps += len(item) // _CHARS_PER_STEP
            elif isinstance(item, dict):
                self.spend(num_steps + len(item))  # now: what is listed takes memory
                num_steps = 0
                waiting += item
                waiting += item.values()
            elif type(item) in _LISTS:
                self.spend(num_steps + len(item))
                num_steps = 0
                waiting += item
        self.spend(num_steps)
        return num_chars
