"""Inlining: regular parts of a grammar as single texts, so that lexers read them in one go.

Without a lexer (GBNF) a text may be cut into terminals at will, so neighbours are joined and rules
that do not refer to themselves are put in place. What is left between are calls of rules that
recur, or are too large to be copied. A grammar with a lexer (Lark) keeps its terminals as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from grammars.automata.pattern_ast import Concatenation, Repetition
from grammars.cfg.components import strong_components
from grammars.cfg.syntax import (
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
from grammars.safepoints import popped, with_safepoints

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.automata.pattern_ast import Node
    from grammars.cfg.syntax import Expression, Grammar

MAX_INLINED_COPIES: Final = 512
"""A regular rule that needs more NFA states is called; so a chain of doublings stays small."""

MAX_INLINED_DEPTH: Final = 40

MAX_JOINED_PARTS: Final = 500_000
"""Parts of all texts that are joined: characters, classes, options and repetitions."""

_JOINED: Final = "text"
"""The name of a text that was joined from several."""

_EMPTY_TEXT: Final = Text(Concatenation(()), '""')


def inline(grammar: Grammar) -> dict[str, Expression]:
    """The rules that the start reaches once regular parts are joined; the start comes first.

    Sequences and alternatives have at least two parts, and no two texts that could be one.

    Raises:
        LimitExceededError: the texts of rules, put in their places, become too large.
    """
    graph = _references(grammar)
    joiner = _Joiner()
    texts = joiner.texts
    rules: dict[str, Expression] = {}
    for component in with_safepoints(strong_components(graph)):
        recurs = len(component) > 1 or component[0] in graph[component[0]]
        for name in component:
            rule = joiner.joined(grammar.rules[name]) if grammar.is_scannerless else None
            rules[name] = grammar.rules[name] if rule is None else rule
            if isinstance(rule, Text) and not recurs and _is_small(rule):
                texts[name] = rule
    return _reached(rules, graph, texts, grammar.start)


def _is_small(text: Text) -> bool:
    return num_copies(text.node) <= MAX_INLINED_COPIES and depth(text.node) <= MAX_INLINED_DEPTH


def _references(grammar: Grammar) -> dict[str, dict[str, None]]:
    """Name -> the rules that it refers to, for all that the start reaches."""
    graph: dict[str, dict[str, None]] = {}
    pending = [grammar.start]
    for name in popped(pending):
        if name not in graph:
            graph[name] = _rules_in(grammar.rules[name])
            pending.extend(graph[name])
    return graph


def _reached(
    rules: dict[str, Expression],
    graph: dict[str, dict[str, None]],
    texts: dict[str, Text],
    start: str,
) -> dict[str, Expression]:
    """The rules that are still called from the start on."""
    reached: dict[str, Expression] = {}
    pending = [start]
    for name in popped(pending):
        if name not in reached:
            reached[name] = rules[name]
            pending += [called for called in graph[name] if called not in texts]
    return reached


def _rules_in(expression: Expression) -> dict[str, None]:
    """The rules that an expression refers to, in order."""
    found: dict[str, None] = {}
    pending = [expression]
    while pending:
        match pending.pop():
            case Text():
                pass
            case Reference(rule):
                found[rule] = None
            case Series(parts) | Options(parts):
                pending.extend(reversed(parts))
            case Repeated(part):
                pending.append(part)
    return found


class _Joiner:
    """Puts texts of rules in place, and joins those that are neighbours."""

    def __init__(self) -> None:
        self.texts: dict[str, Text] = {}
        """By rule, the text that stands for it in other rules."""
        self._num_joined = 0

    def joined(self, expression: Expression) -> Expression:
        """The expression with the texts of rules in place, and neighbouring texts joined.

        Raises:
            LimitExceededError: the texts that are copied become too many.
        """
        match expression:
            case Text():
                return expression
            case Reference(rule):
                return self.texts.get(rule, expression)
            case Repeated(part, minimum, maximum):
                inside = self.joined(part)
                if isinstance(inside, Text):
                    node = Repetition(inside.node, minimum, maximum)
                    return Text(node, _JOINED)
                return Repeated(inside, minimum, maximum)
            case Series(parts):
                if self._is_joined(parts):
                    return expression
                return self._series([self.joined(part) for part in parts])
            case Options(options):
                return self._options([self.joined(option) for option in options])

    def _is_joined(self, parts: tuple[Expression, ...]) -> bool:
        """Whether a series is texts and references between which nothing can be joined."""
        is_after_text = False
        for part in parts:
            is_text = isinstance(part, Text)
            if is_text and is_after_text:
                return False
            if not is_text and not (isinstance(part, Reference) and part.rule not in self.texts):
                return False
            is_after_text = is_text
        return len(parts) > 1

    def _series(self, parts: list[Expression]) -> Expression:
        result: list[Expression] = []
        run: list[Text] = []
        for part in _flat(parts):
            if isinstance(part, Text):
                run.append(part)
                continue
            if run:
                result.append(self._one_text(concatenation, run))
                run = []
            result.append(part)
        if run:
            result.append(self._one_text(concatenation, run))
        if not result:
            return _EMPTY_TEXT
        return result[0] if len(result) == 1 else Series(tuple(result))

    def _options(self, options: list[Expression]) -> Expression:
        texts = [option for option in options if isinstance(option, Text)]
        others = [option for option in options if not isinstance(option, Text)]
        joined: list[Expression] = [self._one_text(alternation, texts)] if texts else []
        joined += others
        return joined[0] if len(joined) == 1 else Options(tuple(joined))

    def _one_text(self, join: Callable[[list[Node]], Node], texts: list[Text]) -> Text:
        """Some texts as one; a single one keeps its name."""
        if len(texts) == 1:
            return texts[0]
        self._num_joined += sum([num_parts(text.node) for text in texts])
        if self._num_joined > MAX_JOINED_PARTS:
            raise LimitExceededError(
                "max_joined_parts", MAX_JOINED_PARTS, "a grammar with its rules in place"
            )
        return Text(join([text.node for text in texts]), _JOINED)


def _flat(parts: list[Expression]) -> list[Expression]:
    return [
        inner for part in parts for inner in (part.parts if isinstance(part, Series) else (part,))
    ]
