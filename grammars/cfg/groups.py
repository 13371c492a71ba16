"""GroupStack: expressions under construction, with an explicit stack of open groups.

Both readers fill it token by token, so that no input makes them recurse; what comes out is nested
at most MAX_NESTING deep, so that others may.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from grammars.cfg.syntax import MAX_NESTING, Options, Series, repeated
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.cfg.source import Source
    from grammars.cfg.syntax import Expression

Bounds: TypeAlias = "tuple[int, int | None]"
"""How often something is repeated: at least, at most (None: no bound)."""

_BOUNDS: Final = MappingProxyType[str, Bounds]({"*": (0, None), "+": (1, None), "?": (0, 1)})


class _Part(NamedTuple):
    """An expression and how deep it is nested."""

    expression: Expression
    depth: int


@dataclass(slots=True)
class _Group:
    """An open group: the options before the last `|`, and the parts since."""

    bracket: str
    offset: int
    options: list[_Part] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)


class GroupStack:
    """One rule's expression while it is read; what nests too deep raises LimitExceededError."""

    def __init__(self) -> None:
        self._groups = [_Group("", 0)]

    @property
    def depth(self) -> int:
        """How many groups are open."""
        return len(self._groups) - 1

    @property
    def opened(self) -> tuple[str, int]:
        """The bracket that opened the innermost group, and its offset; "" where none is open."""
        return self._groups[-1].bracket, self._groups[-1].offset

    def open(self, bracket: str, offset: int) -> None:
        """Open a group."""
        self._groups.append(_Group(bracket, offset))

    def close(self) -> None:
        """Close the innermost group; in Lark `[x]` is `(x)?`."""
        group = self._groups.pop()
        self._groups[-1].parts.append(_finish(group))
        if group.bracket == "[":
            self.repeat(0, 1)

    def add(self, part: Expression) -> None:
        """Append a part to the option under way."""
        self._groups[-1].parts.append(_Part(part, 0))

    def next_option(self) -> None:
        """A `|` was read."""
        group = self._groups[-1]
        group.options.append(_series(group.parts))
        group.parts = []

    def repeat(self, minimum: int, maximum: int | None) -> bool:
        """Repeat the last part; False where there is none."""
        parts = self._groups[-1].parts
        if not parts:
            return False
        part, depth = parts[-1]
        parts[-1] = _checked(repeated(part, minimum, maximum), depth + 1)
        return True

    def finish(self) -> Expression:
        """The whole expression; no group may be open."""
        return _finish(self._groups[0]).expression


def _finish(group: _Group) -> _Part:
    options = [*group.options, _series(group.parts)]
    if len(options) == 1:
        return options[0]
    inside = Options(tuple([option.expression for option in options]))
    return _checked(inside, 1 + max([option.depth for option in options]))


def _series(parts: list[_Part]) -> _Part:
    if len(parts) == 1:
        return parts[0]
    inside = Series(tuple([part.expression for part in parts]))
    return _checked(inside, 1 + max([part.depth for part in parts], default=0))


def _checked(expression: Expression, depth: int) -> _Part:
    if depth > MAX_NESTING:
        raise LimitExceededError("max_grammar_depth", MAX_NESTING, "the nesting of a rule")
    return _Part(expression, depth)


def bound(digits: str) -> int:
    """A bound of a repetition, cut off at ten digits: far beyond every limit on states."""
    return int(digits.lstrip("0")[:10] or "0")


def read_repetition(
    source: Source, groups: GroupStack, offset: int, counted: Callable[[int], Bounds]
) -> None:
    """Read an operator of repetition and apply it to what stands before it.

    Args:
        source: at the operator.
        groups: what was read before it.
        offset: where it begins, for errors.
        counted: reads the operator that has numbers.

    Raises:
        InvalidGrammarError: its bounds are out of order, or nothing stands before it.
    """
    known = _BOUNDS.get(source.peek())
    if known is not None:
        source.take()
    minimum, maximum = counted(offset) if known is None else known
    if maximum is not None and minimum > maximum:
        raise source.invalid("the bounds of the repetition are out of order", offset)
    if not groups.repeat(minimum, maximum):
        raise source.invalid("the repetition has nothing to repeat before it", offset)
