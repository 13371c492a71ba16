"""Actions: what a fired label does to the stack, and the Expander that finds missing ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection

    from grammars.automata.string_rest import StringRest
    from grammars.pushdown.string_reading import CutStrings


@dataclass(frozen=True, slots=True)
class Goto:
    """Replace the top by `target`."""

    target: int


@dataclass(frozen=True, slots=True)
class Push:
    """Replace the top by `resume`, then put `inner` on it."""

    resume: int
    inner: int


@dataclass(frozen=True, slots=True)
class Pop:
    """Drop the top; the state r below becomes `resume(r, outcome)`.

    Args:
        outcome: bit i is set when item i of the state below had its inner value end here; any size.
    """

    outcome: int


@dataclass(frozen=True, slots=True)
class Dead:
    """The label leads nowhere in this state."""


Action: TypeAlias = Goto | Push | Pop | Dead


class Expander(Protocol):
    """The structural layer: writes what the tables lack, called with `tables.lock` held."""

    def expand_action(self, state: int, label: int) -> None:
        """Write the action of (`state`, `label`) with `AutomatonTables.set_action`.

        Raises:
            GrammarError: the action cannot be made within the limits.
        """
        ...

    def expand_resume(self, state: int, outcome: int) -> None:
        """Write what `state` becomes under `outcome` with `AutomatonTables.set_resume`.

        Raises:
            GrammarError: the state cannot be made within the limits.
        """
        ...

    def least_rest(self, state: int) -> int:
        """About how much ends the text at least, so that the way is looked for where it is.

        0 where that is not known without a search.
        """
        ...

    def cut_strings(self, state: int) -> CutStrings | None:
        """The strings that a state reads in pieces; None where it does not."""
        ...

    def after_strings(self, state: int, ended: Collection[StringRest]) -> Action:
        """What happens behind the closing quote of such strings: a `Goto` or a `Pop`.

        Args:
            state: that reads them.
            ended: those that end there.

        Raises:
            GrammarError: the state behind them cannot be made within the limits.
        """
        ...
