"""Reader of Lark's grammars, as OpenAI's custom tools and llguidance take them.

    start: item ("," item)*        // rules are lower case
    ?item: NAME | "(" start ")" -> group
    NAME: /[a-z]+/i                // terminals are upper case
    %import common.WS
    %ignore WS

A statement ends with its line, but a line that begins with `|` goes on, and inside groups lines may
break. What shapes a parse tree only (aliases, `?`, `!`, priorities of rules) is read over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from grammars.automata.charset import CharSet
from grammars.automata.pattern import parse_pattern
from grammars.automata.pattern_ast import Characters
from grammars.cfg.groups import GroupStack
from grammars.cfg.lark_common import COMMON_TERMINALS
from grammars.cfg.lark_literals import REGEX, STRING, regex_node, string_node
from grammars.cfg.lark_terminals import LarkTerminals
from grammars.cfg.source import Source
from grammars.cfg.syntax import Grammar, Reference, Text
from grammars.errors import InvalidGrammarError

if TYPE_CHECKING:
    from grammars.cfg.syntax import Expression

START: Final = "start"

_BLANKS: Final = re.compile(r"(?:[ \t\r]+|(?://|#)[^\n]*)+")
_BLANK_LINES: Final = re.compile(r"(?:[ \t\r\n]+|(?://|#)[^\n]*)+")
_STATEMENT: Final = re.compile(r"%|[!?]*_?[A-Za-z]\w*[ \t]*(?:\{[^}\n]*\})?(?:\.-?[0-9]+)?[ \t]*:")
_RULE_NAME: Final = re.compile(r"_?[a-z][a-z0-9_]*(?![A-Za-z0-9_])")
_TERMINAL_NAME: Final = re.compile(r"_?[A-Z][A-Z0-9_]*(?![A-Za-z0-9_])")
_MODIFIERS: Final = re.compile(r"[!?]*")
_PRIORITY: Final = re.compile(r"\.(-?[0-9]+)")
_ALIAS: Final = re.compile(r"->[ \t]*_?[A-Za-z]\w*")
_COUNT: Final = re.compile(r"~[ \t]*([0-9]+)(?:[ \t]*\.\.[ \t]*([0-9]+))?")
_IMPORT: Final = re.compile(
    r"[ \t]+(?P<path>\.*\w+(?:\.\w+)*)"
    r"(?:[ \t]*\((?P<names>[\w \t\n,]*)\)|[ \t]*->[ \t]*(?P<as>\w+))?"
)
_CLOSING: Final = {"(": ")", "[": "]"}
_DIRECTIVE: Final = re.compile(r"%(\w*)")


def read_lark(text: str) -> Grammar:
    """Read a grammar.

    Raises:
        InvalidGrammarError: malformed; has line, column and the way out.
        UnsupportedError: a construct that is refused by name.
        LimitExceededError: groups nested too deeply, or terminals too large.
    """
    return _Reader(Source(text, "lark")).read()


@dataclass(slots=True)
class _Statements:
    """What the statements define, names not yet looked up."""

    rules: dict[str, Expression] = field(default_factory=dict)
    ignored: list[Expression] = field(default_factory=list)
    rule_uses: dict[str, int] = field(default_factory=dict)  # name -> offset of its first use


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._statements = _Statements()
        self._terminals = LarkTerminals(source)

    def read(self) -> Grammar:
        source, found = self._source, self._statements
        source.take_match(_BLANK_LINES)
        while not source.at_end:
            self._statement()
            source.take_match(_BLANK_LINES)
        if START not in found.rules:
            raise InvalidGrammarError(
                f"there is no such rule, in which texts begin; write '{START}: ...'",
                keyword="lark",
                place=f"rule {START}",
            )
        for name, offset in found.rule_uses.items():
            if name not in found.rules:
                raise source.invalid(f"the rule {name!r} is not defined; define it once", offset)
        self._terminals.resolve()
        rules = {name: self._terminals.in_place(rule) for name, rule in found.rules.items()}
        ignored = tuple(self._terminals.text(part) for part in found.ignored)
        return Grammar(rules, START, is_scannerless=False, ignored=ignored)

    def _statement(self) -> None:
        source = self._source
        offset = source.offset
        if source.peek() == "%":
            self._directive(offset)
            return
        source.take_match(_MODIFIERS)
        is_terminal = False
        name = source.take_match(_RULE_NAME)
        if name is None:
            name = source.take_match(_TERMINAL_NAME)
            is_terminal = True
        if name is None:
            raise source.invalid(
                f"expected a rule, a terminal or a directive before {source.peek()!r}; statements "
                "are 'name: ...', 'NAME: ...' and '%ignore ...'",
                offset,
            )
        if source.peek() == "{":
            raise source.unsupported(
                f"templates ({name[0]}{{...}}) are not supported; write the rule out", offset
            )
        if source.peek() == "[":
            raise source.unsupported("attributes of rules are not supported; remove them", offset)
        priority = source.take_match(_PRIORITY)
        source.take_match(_BLANKS)
        if not source.take_if(":"):
            raise source.invalid(f"expected ':' after the name {name[0]!r}", source.offset)
        self._define(name[0], offset, int(priority[1]) if priority else 0, is_terminal=is_terminal)

    def _define(self, name: str, offset: int, priority: int, *, is_terminal: bool) -> None:
        defined = self._terminals.definitions if is_terminal else self._statements.rules
        if name in defined:
            kind = "terminal" if is_terminal else "rule"
            raise self._source.invalid(
                f"the {kind} {name!r} is defined twice; join the two with '|'", offset
            )
        body = self._body(in_terminal=is_terminal)
        if is_terminal:
            self._terminals.define(name, body, priority)
        else:
            self._statements.rules[name] = body

    def _directive(self, offset: int) -> None:
        source = self._source
        directive = source.take_match(_DIRECTIVE)
        assert directive is not None
        match directive[1]:
            case "ignore":
                self._statements.ignored.append(self._body(in_terminal=True))
            case "import":
                self._import(offset)
            case name:
                raise source.unsupported(
                    f"the directive '%{name}' is not supported; there are %ignore and "
                    "%import common.NAME",
                    offset,
                )

    def _import(self, offset: int) -> None:
        source = self._source
        found = source.take_match(_IMPORT)
        if found is None:
            raise source.invalid("malformed import; write '%import common.NAME'", offset)
        module, _, name = found["path"].partition(".")
        if module != "common" or "." in name:
            raise source.unsupported(
                f"the module {found['path']!r} cannot be imported; there is 'common' only", offset
            )
        wanted = [n.strip() for n in found["names"].split(",")] if found["names"] else [name]
        for terminal in wanted:
            pattern = COMMON_TERMINALS.get(terminal)
            if pattern is None:
                raise source.invalid(
                    f"there is no terminal {terminal!r} in 'common'; there are "
                    + ", ".join(COMMON_TERMINALS),
                    offset,
                )
            known_as = found["as"] or terminal
            if known_as in self._terminals.definitions:
                raise source.invalid(f"the terminal {known_as!r} is defined twice", offset)
            self._terminals.define(known_as, Text(parse_pattern(pattern), known_as), 0)

    def _body(self, *, in_terminal: bool) -> Expression:
        source, groups = self._source, GroupStack()
        is_empty = True  # nothing has been read since the colon or the last bar
        while True:
            source.take_match(_BLANK_LINES if groups.depth else _BLANKS)
            offset = source.offset
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
                    self._repeat(groups, offset)
                case "-" if source.starts_with("->"):
                    self._alias(offset)
                case _:
                    groups.add(self._element(offset, in_terminal=in_terminal))
            is_empty = False
        if groups.depth:
            bracket, opened_at = groups.opened
            raise source.invalid(f"the group is never closed; add {_CLOSING[bracket]!r}", opened_at)
        return groups.finish()

    def _goes_on(self, *, is_empty: bool) -> bool:
        """Whether the statement goes on in the next line that is not blank; if so, move there."""
        source = self._source
        offset = source.offset
        source.take_match(_BLANK_LINES)
        if source.peek() == "|" or source.starts_with("->"):
            return True
        if is_empty and not source.at_end and not _STATEMENT.match(source.text, source.offset):
            return True
        source.offset = offset
        return False

    def _alias(self, offset: int) -> None:
        if self._source.take_match(_ALIAS) is None:
            raise self._source.invalid("expected a name after '->'", offset)

    def _repeat(self, groups: GroupStack, offset: int) -> None:
        source = self._source
        minimum: int
        maximum: int | None
        match source.peek():
            case "*":
                minimum, maximum = 0, None
            case "+":
                minimum, maximum = 1, None
            case "?":
                minimum, maximum = 0, 1
            case _:
                bounds = source.take_match(_COUNT)
                if bounds is None:
                    raise source.invalid("malformed repetition; write ~n or ~n..m", offset)
                source.offset -= 1  # its last character is taken below, as of the others
                minimum = int(bounds[1][:10])
                maximum = int(bounds[2][:10]) if bounds[2] else minimum
        source.take()
        if maximum is not None and minimum > maximum:
            raise source.invalid("the bounds of the repetition are out of order", offset)
        if not groups.repeat(minimum, maximum):
            raise source.invalid("the repetition has nothing to repeat before it", offset)

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
        terminal = source.take_match(_TERMINAL_NAME)
        if terminal is not None:
            return self._terminals.use(terminal[0], offset)
        rule = source.take_match(_RULE_NAME)
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
        self._statements.rule_uses.setdefault(rule[0], offset)
        return Reference(rule[0], source.place(offset))

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
