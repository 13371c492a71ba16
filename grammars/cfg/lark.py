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
from typing import TYPE_CHECKING, Final

from grammars.automata.pattern import parse_pattern
from grammars.cfg.lark_body import (
    BLANK_LINES,
    BLANKS,
    PLAIN_RULE,
    RULE_NAME,
    TERMINAL_NAME,
    BodyReader,
)
from grammars.cfg.lark_common import COMMON_TERMINALS
from grammars.cfg.lark_terminals import LarkTerminals
from grammars.cfg.source import Source
from grammars.cfg.syntax import Grammar, Text
from grammars.errors import InvalidGrammarError

if TYPE_CHECKING:
    from grammars.cfg.syntax import Expression

START: Final = "start"

_MODIFIERS: Final = re.compile(r"[!?]*")
_PRIORITY: Final = re.compile(r"\.(-?[0-9]+)")
_IMPORT: Final = re.compile(
    r"[ \t]+(?P<path>\.*\w+(?:\.\w+)*)"
    r"(?:[ \t]*\((?P<names>[\w \t\n,]*)\)|[ \t]*->[ \t]*(?P<as>\w+))?"
)
_DIRECTIVE: Final = re.compile(r"%(\w*)")


def read_lark(text: str) -> Grammar:
    """Read a grammar.

    Raises:
        InvalidGrammarError: malformed; has line, column and the way out.
        UnsupportedError: a construct that is refused by name.
        LimitExceededError: groups nested too deeply, terminals too large, or too many parts.
    """
    return _Reader(Source(text, "lark")).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._rules: dict[str, Expression] = {}
        self._ignored: list[Expression] = []
        self._terminals = LarkTerminals(source)
        self._bodies = BodyReader(source, self._terminals)

    def read(self) -> Grammar:
        source = self._source
        source.take_match(BLANK_LINES)
        while not source.at_end:
            self._statement()
            source.take_match(BLANK_LINES)
        if START not in self._rules:
            raise InvalidGrammarError(
                f"there is no such rule, in which texts begin; write '{START}: ...'",
                keyword="lark",
                place=f"rule {START}",
            )
        for name, offset in self._bodies.rule_uses.items():
            if name not in self._rules:
                raise source.invalid(f"the rule {name!r} is not defined; define it once", offset)
        self._terminals.resolve()
        rules = {name: self._terminals.in_place(rule) for name, rule in self._rules.items()}
        ignored = tuple(self._terminals.text(part) for part in self._ignored)
        return Grammar(rules, START, is_scannerless=False, ignored=ignored)

    def _statement(self) -> None:
        source = self._source
        offset = source.offset
        if source.peek() == "%":
            self._directive(offset)
            return
        plain = source.take_match(PLAIN_RULE)
        if plain is not None:
            self._check_new(plain[1], offset, is_terminal=False)
            self._rules[plain[1]] = self._bodies.read_plain(plain)
            return
        source.take_match(_MODIFIERS)
        is_terminal = False
        name = source.take_match(RULE_NAME)
        if name is None:
            name = source.take_match(TERMINAL_NAME)
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
        source.take_match(BLANKS)
        if not source.take_if(":"):
            raise source.invalid(f"expected ':' after the name {name[0]!r}", source.offset)
        self._define(name[0], offset, int(priority[1]) if priority else 0, is_terminal=is_terminal)

    def _check_new(self, name: str, offset: int, *, is_terminal: bool) -> None:
        defined = self._terminals.definitions if is_terminal else self._rules
        if name in defined:
            kind = "terminal" if is_terminal else "rule"
            raise self._source.invalid(
                f"the {kind} {name!r} is defined twice; join the two with '|'", offset
            )

    def _define(self, name: str, offset: int, priority: int, *, is_terminal: bool) -> None:
        self._check_new(name, offset, is_terminal=is_terminal)
        body = self._bodies.read(in_terminal=is_terminal)
        if is_terminal:
            self._terminals.define(name, body, priority)
        else:
            self._rules[name] = body

    def _directive(self, offset: int) -> None:
        source = self._source
        directive = source.take_match(_DIRECTIVE)
        assert directive is not None
        match directive[1]:
            case "ignore":
                self._ignored.append(self._bodies.read(in_terminal=True))
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
