"""The syntax tree of a grammar, the same for GBNF and Lark: rules of texts and references."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from grammars.automata.charset import CharSet
from grammars.automata.pattern_ast import Alternation, Characters, Concatenation

if TYPE_CHECKING:
    from grammars.automata.pattern_ast import Node

MAX_NESTING: Final = 100
"""Sequences, alternatives and repetitions inside one another, at most, in a rule or terminal."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a regular language.

    Args:
        node: the language.
        name: how errors call it.
        priority: of a terminal over others that read the same text (Lark).
    """

    node: Node
    name: str = field(compare=False)
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Reference:
    """A text of the rule of that name."""

    rule: str


@dataclass(frozen=True, slots=True)
class Series:
    """All parts in order; no parts: the empty text."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """Any one of the options."""

    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """`part` minimum .. maximum times (None: no bound)."""

    part: Expression
    minimum: int
    maximum: int | None


Expression: TypeAlias = Text | Reference | Series | Options | Repeated


@dataclass(frozen=True, slots=True)
class Grammar:
    """A grammar as it was written.

    Args:
        rules: name -> what it stands for; every reference is defined.
        start: the rule of whole texts.
        is_scannerless: every way of cutting a text into terminals counts (GBNF). Else terminals
            are cut by a lexer that takes the longest match (Lark).
        ignored: terminals that may stand before, between and after all others.
    """

    rules: dict[str, Expression]
    start: str
    is_scannerless: bool
    ignored: tuple[Text, ...] = ()


def repeated(part: Expression, minimum: int, maximum: int | None) -> Expression:
    """A repetition; a star of a star (or `+`, `?`) is made one, as it adds no texts, only depth."""
    if isinstance(part, Repeated) and max(part.minimum, minimum) <= 1 and maximum in {1, None}:
        if part.maximum is None:
            return Repeated(part.part, min(part.minimum, minimum), None)
        if part.maximum == 1:
            return Repeated(part.part, min(part.minimum, minimum), maximum)
    return Repeated(part, minimum, maximum)


def literal(text: str) -> Node:
    """The pattern node of one text."""
    characters = tuple(map(_character, text))
    return characters[0] if len(characters) == 1 else Concatenation(characters)


@lru_cache(maxsize=4096)  # a grammar's literals share a few hundred characters
def _character(character: str) -> Characters:
    return Characters(CharSet.of(character))


def concatenation(nodes: list[Node]) -> Node:
    """Pattern nodes in order, without concatenations inside concatenations."""
    flat: list[Node] = []
    for node in nodes:
        flat.extend(node.parts if isinstance(node, Concatenation) else (node,))
    return flat[0] if len(flat) == 1 else Concatenation(tuple(flat))


def num_parts(node: Node) -> int:
    """What it takes to join a node with others: its parts or options are copied."""
    match node:
        case Concatenation(nodes) | Alternation(nodes):
            return 1 + len(nodes)
        case _:
            return 1


def alternation(nodes: list[Node]) -> Node:
    """Any of the pattern nodes, without alternations inside alternations."""
    flat: list[Node] = []
    for node in nodes:
        flat.extend(node.options if isinstance(node, Alternation) else (node,))
    return flat[0] if len(flat) == 1 else Alternation(tuple(flat))
