"""BodyReader: what stands after the colon of a rule or terminal of Lark, or after `%ignore`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from grammars.automata.charset import CharSet
from grammars.automata.pattern_ast import Characters
from grammars.cfg.groups import GroupStack, bound, read_repetition
from grammars.cfg.lark_literals import PLAIN_PER_PART, REGEX, STRING, regex_node, string_node
from grammars.cfg.syntax import Reference, Series, Text, literal

if TYPE_CHECKING:
    from grammars.cfg.groups import Bounds
    from grammars.cfg.lark_terminals import LarkTerminals
    from grammars.cfg.source import Source
    from grammars.cfg.syntax import Expression

BLANKS: Final = re.compile(r"(?:[ \t\r]+|(?://|#)[^\n]*)+")
BLANK_LINES: Final = re.compile(r"(?:[ \t\r\n]+|(?://|#)[^\n]*)+")
STATEMENT: Final = re.compile(r"%|[!?]*_?[A-Za-z]\w*[ \t]*(?:\{[^}\n]*\})?(?:\.-?[0-9]+)?[ \t]*:")
RULE_NAME: Final = re.compile(r"_?[a-z][a-z0-9_]*(?![A-Za-z0-9_])")
TERMINAL_NAME: Final = re.compile(r"_?[A-Z][A-Z0-9_]*(?![A-Za-z0-9_])")
PLAIN_RULE: Final = re.compile(
    r"(_?[a-z][a-z0-9_]*+)[ \t]*+:[ \t]*+"
    r'((?:(?:_?[a-z][a-z0-9_]*+|_?[A-Z][A-Z0-9_]*+|"[^"\\\n\ud800-\udfff]*+")(?=[ \t\n])[ \t]*+)++)'
    r"\n(?=_?[a-z])"
)
"""A rule of names and of strings without escapes, in a line of its own, before another rule."""

_PLAIN_ELEMENT: Final = re.compile(r'(_?[A-Z]\w*)|(_?[a-z]\w*)|"([^"]*)"', re.ASCII)
_ALIAS: Final = re.compile(r"->[ \t]*_?[A-Za-z]\w*")
_COUNT: Final = re.compile(r"~[ \t]*([0-9]+)(?:[ \t]*\.\.[ \t]*([0-9]+))?")
_CLOSING: Final = {"(": ")", "[": "]"}


class BodyReader:
    """Reads bodies, one after the other.

    Args:
        source: the grammar; stands at the body, and after it is read at the end of its last line.
        terminals: notes the terminals that are used.
    """

    def __init__(self, source: Source, terminals: LarkTerminals) -> None:
        self._source = source
        self._terminals = terminals
        self.rule_uses: dict[str, int] = {}
        """The rules that are referred to, each with the offset of its first use."""
        self._strings: dict[str, Text] = {}  # those of plain rules

    def read(self, *, in_terminal: bool) -> Expression:
        """Read one body.

        Args:
            in_terminal: rules may not be referred to.

        Raises:
            GrammarError: see `read_lark`.
        """
        source, groups = self._source, GroupStack()
        is_empty = True  # nothing has been read since the colon or the last bar
        while True:
            source.take_match(BLANK_LINES if groups.depth else BLANKS)
            offset = source.offset
            source.count_part()
            match source.peek():
                case "" | "\n":
                    if groups.depth or not self._goes_on(is_empty=is_empty):
                        break
                    continue
                case "|":
                    source.take()
                    groups.next_option()
                    is_empty = True
                    continue
                case "(" | "[":
                    groups.open(source.take(), offset)
                case ")" | "]":
                    closing = source.take()
                    if _CLOSING.get(groups.opened[0]) != closing:
                        raise source.invalid(f"{closing!r} closes no group; remove it", offset)
                    groups.close()
                case "*" | "+" | "?" | "~":
                    read_repetition(self._source, groups, offset, self._counted)
                case "-" if source.starts_with("->"):
                    self._alias(offset)
                case _:
                    groups.add(self._element(offset, in_terminal=in_terminal))
            is_empty = False
        if groups.depth:
            bracket, opened_at = groups.opened
            raise source.invalid(f"the group is never closed; add {_CLOSING[bracket]!r}", opened_at)
        return groups.finish()

    def read_plain(self, rule: re.Match[str]) -> Expression:
        """What `read` makes of a rule, `rule` a match of PLAIN_RULE."""
        parts: list[Expression] = []
        for element in _PLAIN_ELEMENT.finditer(rule.string, *rule.span(2)):
            terminal, name, text = element.groups()
            if name is not None:
                self.rule_uses.setdefault(name, element.start())
                parts.append(Reference(name))
            elif terminal is not None:
                parts.append(self._terminals.use(terminal, element.start()))
            else:
                parts.append(self._plain_string(text))
        self._source.count_parts(len(parts) + 1)
        return parts[0] if len(parts) == 1 else Series(tuple(parts))

    def _plain_string(self, text: str) -> Text:
        self._source.count_parts(len(text) // PLAIN_PER_PART)
        known = self._strings.get(text)
        if known is None:
            known = self._strings[text] = Text(literal(text), f'"{text}"')
        return known

    def _goes_on(self, *, is_empty: bool) -> bool:
        """Whether the statement goes on in the next line that is not blank; if so, move there."""
        source = self._source
        offset = source.offset
        source.take_match(BLANK_LINES)
        if source.peek() == "|" or source.starts_with("->"):
            return True
        if is_empty and not source.at_end and not STATEMENT.match(source.text, source.offset):
            return True
        source.offset = offset
        return False

    def _alias(self, offset: int) -> None:
        if self._source.take_match(_ALIAS) is None:
            raise self._source.invalid("expected a name after '->'", offset)

    def _counted(self, offset: int) -> Bounds:
        bounds = self._source.take_match(_COUNT)
        if bounds is None:
            raise self._source.invalid("malformed repetition; write ~n or ~n..m", offset)
        minimum = bound(bounds[1])
        return minimum, bound(bounds[2]) if bounds[2] else minimum

    def _element(self, offset: int, *, in_terminal: bool) -> Expression:
        source = self._source
        match source.peek():
            case '"':
                return self._string(offset)
            case "/":
                regex = source.take_match(REGEX)
                if regex is None:
                    raise source.invalid("the regular expression is never closed; add '/'", offset)
                return Text(regex_node(source, regex), regex[0])
            case "<" | "@" | "%" | "&":
                raise source.unsupported(
                    f"{source.peek()!r} (tokens, nested grammars, intersections) is not supported; "
                    "write rules and terminals",
                    offset,
                )
            case _:
                return self._named(offset, in_terminal=in_terminal)

    def _named(self, offset: int, *, in_terminal: bool) -> Expression:
        source = self._source
        terminal = source.take_match(TERMINAL_NAME)
        if terminal is not None:
            return self._terminals.use(terminal[0], offset)
        rule = source.take_match(RULE_NAME)
        if rule is None:
            raise source.invalid(
                f"unexpected {source.peek()!r}; an element is a rule, a terminal, a string, a "
                "regular expression or a group",
                offset,
            )
        if source.peek() == "{":
            raise source.unsupported(
                f"templates ({rule[0]}{{...}}) are not supported; write the rule out", offset
            )
        if in_terminal:
            raise source.invalid(
                f"a terminal cannot refer to the rule {rule[0]!r}; make that a terminal", offset
            )
        self.rule_uses.setdefault(rule[0], offset)
        return Reference(rule[0])

    def _string(self, offset: int) -> Expression:
        source = self._source
        first = source.take_match(STRING)
        if first is None:
            raise source.invalid("the string is never closed; add '\"'", offset)
        if not source.take_if(".."):
            return Text(string_node(source, first), first[0])
        last = source.take_match(STRING)
        ends = [string_node(source, end) for end in (first, last) if end is not None]
        match ends:
            case [Characters(low), Characters(high)] if len(low) == len(high) == 1:
                if low.bounds[0] <= high.bounds[0]:
                    members = CharSet.span(low.bounds[0], high.bounds[0])
                    return Text(Characters(members), source.text[offset : source.offset])
        raise source.invalid('a range is written "a".."z", of two characters in order', offset)
