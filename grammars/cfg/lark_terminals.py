"""LarkTerminals: named terminals, put together from one another without recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from grammars.automata.pattern_ast import Repetition
from grammars.cfg.components import strong_components
from grammars.cfg.inlining import MAX_JOINED_PARTS
from grammars.cfg.syntax import (
    MAX_NESTING,
    Options,
    Reference,
    Repeated,
    Series,
    Text,
    alternation,
    concatenation,
    num_parts,
)
from grammars.cfg.terminals import depth, num_copies
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.cfg.source import Source
    from grammars.cfg.syntax import Expression

MAX_TERMINAL_COPIES: Final = 100_000
"""NFA states that one terminal may come to, the terminals in it counted in."""


class _Sized(NamedTuple):
    """A text, about how many NFA states it needs, and how deep it is nested."""

    text: Text
    num_copies: int
    depth: int


class LarkTerminals:
    """The terminals of one grammar; first all are defined and used, then `resolve` joins them.

    Args:
        source: for errors.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.definitions: dict[str, Expression] = {}
        self._priorities: dict[str, int] = {}
        self._uses: dict[str, int] = {}
        self._known: dict[str, _Sized] = {}
        self._num_joined = 0

    def define(self, name: str, body: Expression, priority: int) -> None:
        """Define a terminal, once."""
        self.definitions[name] = body
        self._priorities[name] = priority

    def use(self, name: str, offset: int) -> Reference:
        """A reference to a terminal, which need not be defined yet."""
        self._uses.setdefault(name, offset)
        return Reference(name)

    def resolve(self) -> None:
        """Make a text of each terminal.

        Raises:
            InvalidGrammarError: a terminal is not defined, or refers to itself.
            LimitExceededError: a terminal is too large or nested too deeply.
        """
        for name, offset in self._uses.items():
            if name not in self.definitions:
                raise self._source.invalid(
                    f"the terminal {name!r} is not defined; define it once, or import it", offset
                )
        graph = {name: set(_names(body)) for name, body in self.definitions.items()}
        for component in strong_components(graph):
            name = component[0]
            if len(component) > 1 or name in graph[name]:
                raise self._source.invalid(
                    f"the terminal {name!r} refers to itself; make it a rule (lower case)",
                    self._uses[name],
                )
            sized = self._sized(self.definitions[name])
            text = Text(sized.text.node, name, self._priorities[name])
            self._known[name] = sized._replace(text=text)

    def text(self, expression: Expression) -> Text:
        """The text of an expression of terminals."""
        return self._sized(expression).text

    def in_place(self, expression: Expression) -> Expression:
        """The expression of a rule with terminals in place of their names."""
        match expression:
            case Reference(rule):
                known = self._known.get(rule)
                return expression if known is None else known.text
            case Series(parts):
                return Series(tuple(map(self.in_place, parts)))
            case Options(options):
                return Options(tuple(map(self.in_place, options)))
            case Repeated(part, minimum, maximum):
                return Repeated(self.in_place(part), minimum, maximum)
            case Text():
                return expression

    def _sized(self, expression: Expression) -> _Sized:
        sized = self._unchecked(expression)
        if sized.num_copies > MAX_TERMINAL_COPIES:
            raise LimitExceededError(
                "max_terminal_copies", MAX_TERMINAL_COPIES, "a terminal of the grammar"
            )
        if sized.depth > MAX_NESTING:
            raise LimitExceededError("max_grammar_depth", MAX_NESTING, "the nesting of a terminal")
        return sized

    def _unchecked(self, expression: Expression) -> _Sized:
        match expression:
            case Text(node):
                return _Sized(expression, num_copies(node), depth(node))
            case Reference(name):
                return self._known[name]
            case Series(parts):
                sized = [self._sized(part) for part in parts]
                node = concatenation([part.text.node for part in sized])
            case Options(options):
                sized = [self._sized(option) for option in options]
                node = alternation([option.text.node for option in sized])
            case Repeated(part, minimum, maximum):
                sized = [self._sized(part)]
                node = Repetition(sized[0].text.node, minimum, maximum)
                copies = max(minimum, 1 if maximum is None else maximum)
                total = 1 + sized[0].num_copies * copies
                return _Sized(Text(node, "text"), total, 1 + sized[0].depth)
        self._num_joined += sum([num_parts(part.text.node) for part in sized])
        if self._num_joined > MAX_JOINED_PARTS:
            raise LimitExceededError(
                "max_joined_parts", MAX_JOINED_PARTS, "the set of all terminals"
            )
        total = 1 + sum(part.num_copies for part in sized)
        deepest = 1 + max((part.depth for part in sized), default=0)
        return _Sized(Text(node, "text"), total, deepest)


def _names(expression: Expression) -> Iterator[str]:
    match expression:
        case Reference(name):
            yield name
        case Series(parts) | Options(parts):
            for part in parts:
                yield from _names(part)
        case Repeated(part):
            yield from _names(part)
        case Text():
            pass
