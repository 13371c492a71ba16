r"""Reader of GBNF, the grammars of llama.cpp.

    root   ::= "a" [^\n]+ (item | "\u00e9"){1,3}   # comment
    item   ::= .

Rules end with their line, but inside groups and after `::=` and `|` lines may break; a line that
begins with `|` goes on too. References to tokens (`<think>`, `<[1000]>`) are refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from grammars.automata.charset import ALL_CHARACTERS
from grammars.automata.pattern_ast import Characters
from grammars.cfg.gbnf_literals import read_class, read_literal
from grammars.cfg.groups import GroupStack, bound, read_repetition
from grammars.cfg.source import Source
from grammars.cfg.syntax import Grammar, Reference, Series, Text, literal
from grammars.errors import InvalidGrammarError

if TYPE_CHECKING:
    from grammars.cfg.groups import Bounds
    from grammars.cfg.syntax import Expression

START: Final = "root"

_HEAD: Final = re.compile(r"([A-Za-z0-9_-]+)[ \t]*::=[ \t]*")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_BLANKS: Final = re.compile(r"(?:[ \t\r]+|#[^\n]*)+")
_BLANK_LINES: Final = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)+")
_PLAIN_ELEMENT: Final = re.compile(r'(?:([A-Za-z0-9_-]+)|"([^"\\\ud800-\udfff]+)")[ \t]*')
"""The name of a rule, or a literal without escapes: nearly all that large grammars consist of."""

_PLAIN_RULE: Final = re.compile(
    r"([A-Za-z0-9_-]++)[ \t]*+::=[ \t]*+"
    r'((?:(?:[A-Za-z0-9_-]++|"[^"\\\n\ud800-\udfff]++")[ \t]*+)++)'
    r"\n(?=[A-Za-z0-9_-])"
)
"""A rule of such elements in a line of its own, before the line of another rule."""

_PLAIN_CLASS: Final = re.compile(r"\[[^\]\\]{0,64}\]")
"""A class without escapes; grammars have the same few over and over."""

_QUANTIFIER: Final = re.compile(r"\{[ \t]*([0-9]+)[ \t]*(,[ \t]*([0-9]*)[ \t]*)?\}")


def read_gbnf(text: str) -> Grammar:
    """Read a grammar.

    Raises:
        InvalidGrammarError: malformed; has line, column and the way out.
        UnsupportedError: a reference to a token.
        LimitExceededError: groups nested too deeply, or too many parts.
    """
    return _Reader(Source(text, "gbnf")).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._rules: dict[str, Expression] = {}
        self._references: dict[str, int] = {}  # name -> an offset in the rule that first has it
        self._literals: dict[str, Text] = {}  # those without escapes
        self._classes: dict[str, Text] = {}  # the same

    def read(self) -> Grammar:
        source = self._source
        source.take_match(_BLANK_LINES)
        while not source.at_end:
            self._rule()
            source.take_match(_BLANK_LINES)
        if START not in self._rules:
            raise InvalidGrammarError(
                f"there is no such rule, in which texts begin; write '{START} ::= ...'",
                keyword="gbnf",
                place=f"rule {START}",
            )
        for name, offset in self._references.items():
            if name not in self._rules:
                raise source.invalid(
                    f"the rule {name!r} is not defined; define it once", self._use(name, offset)
                )
        return Grammar(self._rules, START, is_scannerless=True)

    def _use(self, name: str, offset: int) -> int:
        """Where a rule is first referred to, from an offset at or before it in plain elements."""
        elements = _PLAIN_ELEMENT.finditer(self._source.text, offset)
        return next(plain.start(1) for plain in elements if plain[1] == name)

    def _rule(self) -> None:
        source = self._source
        offset = source.offset
        plain = source.take_match(_PLAIN_RULE)
        if plain is not None:
            name = plain[1]
        else:
            head = source.take_match(_HEAD)
            name = self._head() if head is None else head[1]
        if name in self._rules:
            raise source.invalid(
                f"the rule {name!r} is defined twice; join the two with '|'", offset
            )
        self._rules[name] = self._body() if plain is None else self._plain_body(plain)

    def _head(self) -> str:
        """The name of the rule that begins here; comments may stand behind it."""
        source = self._source
        name = source.take_match(_NAME)
        if name is None:
            raise source.invalid(
                f"expected the name of a rule before {source.peek()!r}; rules are 'name ::= ...'",
                source.offset,
            )
        source.take_match(_BLANKS)
        if not source.take_if("::="):
            raise source.invalid(f"expected '::=' after the name {name[0]!r}", source.offset)
        return name[0]

    def _body(self) -> Expression:
        source, groups = self._source, GroupStack()
        may_break = True
        while True:
            source.take_match(_BLANK_LINES if groups.depth or may_break else _BLANKS)
            may_break = False
            offset = source.offset
            source.count_part()
            plain = source.take_match(_PLAIN_ELEMENT)
            if plain is not None:
                groups.add(self._plain_element(plain))
                continue
            match source.peek():
                case "" | "\n":
                    if not self._goes_on():
                        break
                case "|":
                    source.take()
                    groups.next_option()
                    may_break = True
                case "(":
                    source.take()
                    groups.open("(", offset)
                case ")":
                    if groups.depth == 0:
                        raise source.invalid("')' closes no group; remove it", offset)
                    source.take()
                    groups.close()
                case "*" | "+" | "?" | "{":
                    read_repetition(self._source, groups, offset, self._counted)
                case _:
                    groups.add(self._element(offset))
        if groups.depth:
            raise source.invalid("the group is never closed; add ')'", groups.opened[1])
        return groups.finish()

    def _plain_body(self, rule: re.Match[str]) -> Expression:
        """What `_body` reads in a plain rule."""
        begin, end = rule.span(2)
        elements = _PLAIN_ELEMENT.findall(rule.string, begin, end)
        self._source.count_parts(len(elements) + 1)
        parts: list[Expression] = []
        for name, text in elements:
            if name:
                self._references.setdefault(name, begin)
                parts.append(Reference(name))
            else:
                parts.append(self._literal(text))
        return parts[0] if len(parts) == 1 else Series(tuple(parts))

    def _goes_on(self) -> bool:
        """Whether the next line that is not blank begins with `|`; if so, move there."""
        source = self._source
        offset = source.offset
        source.take_match(_BLANK_LINES)
        if source.peek() != "|":
            source.offset = offset
            return False
        return True

    def _counted(self, offset: int) -> Bounds:
        bounds = self._source.take_match(_QUANTIFIER)
        if bounds is None:
            raise self._source.invalid(
                "malformed repetition; write {m}, {m,} or {m,n} with digits", offset
            )
        minimum = bound(bounds[1])
        if bounds[2] is None:
            return minimum, minimum
        return minimum, bound(bounds[3]) if bounds[3] else None

    def _plain_element(self, plain: re.Match[str]) -> Expression:
        name, text = plain.groups()
        if name is not None:
            self._references.setdefault(name, plain.start(1))
            return Reference(name)
        return self._literal(text)

    def _literal(self, text: str) -> Text:
        """A literal without escapes."""
        known = self._literals.get(text)
        if known is None:
            known = self._literals[text] = Text(literal(text), repr(text))
        return known

    def _element(self, offset: int) -> Expression:
        source = self._source
        match source.peek():
            case '"':
                return read_literal(source)
            case "[":
                return self._class()
            case ".":
                source.take()
                return Text(Characters(ALL_CHARACTERS), ".")
            case "<" | "!":
                raise source.unsupported(
                    "references to tokens (<...>) are not supported; write their text", offset
                )
            case other:
                raise source.invalid(
                    f"unexpected {other!r}; an element is a rule's name, a literal in double "
                    "quotes, a class in [], '.' or a group in ()",
                    offset,
                )

    def _class(self) -> Text:
        source = self._source
        plain = _PLAIN_CLASS.match(source.text, source.offset)
        if plain is None:
            return read_class(source)
        known = self._classes.get(plain[0])
        if known is None:
            known = self._classes[plain[0]] = read_class(source)
        source.offset = plain.end()
        return known
