"""CfgSteps: a compiled grammar as steps from one place in a text to the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, assert_never

from grammars.cfg.brackets import find_brackets
from grammars.cfg.follow import CallGraph, Follows, live_bytes
from grammars.cfg.gbnf import read_gbnf
from grammars.cfg.items import END
from grammars.cfg.lark import read_lark
from grammars.cfg.lexers import LexerTable
from grammars.cfg.longest_match import check_longest_match
from grammars.cfg.network import build_network
from grammars.cfg.parsing import Parser, Scan
from grammars.cfg.spelling import JSON_CONTENT, UTF8, lead_bytes_of
from grammars.errors import LimitExceededError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.cfg.items import Item, Items
    from grammars.cfg.lexers import Label, ScanLexer
    from grammars.cfg.parsing import Scans
    from grammars.cfg.syntax import Grammar
    from grammars.limits import CompileLimits
    from grammars.spec import Cfg
    from grammars.work import Work

MAX_GRAMMAR_CHARS: Final = 2**21
"""Twice what 50,000 rules take; of any length, a grammar would be read for many seconds."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text of a grammar.

    Args:
        items: the items there.
        prefix: the first bytes of a character that are read already; b"" between two.
    """

    items: Items
    prefix: bytes

    @property
    def is_final(self) -> bool:
        """Whether the text may end here."""
        return END in self.items and not self.prefix


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways on from a place.

    Args:
        place: where.
        scans: the terminals that may come next, but for ignored ones.
        lexer: that reads them; None where nothing may come.
    """

    place: Place
    scans: Scans
    lexer: ScanLexer | None


@dataclass(frozen=True, slots=True)
class BracketOpened:
    """An opening bracket was read.

    Args:
        waiting: the items after it.
        inner: the place after it, whatever follows the closing bracket.
    """

    waiting: Items
    inner: Place


@dataclass(frozen=True, slots=True)
class BracketClosed:
    """A closing bracket was read.

    Args:
        ends: the items after it, which lack their frames; those after the opening one have them.
    """

    ends: Items


class CfgSteps:
    """A compiled grammar; what is found out about it is kept. Not thread-safe.

    Args:
        spec: its text.
        limits: budgets.
        missing_bytes: bytes that the vocabulary cannot spell.
        work: counts what is found out.

    Raises:
        GrammarError: the grammar is malformed, has no text, or is refused by name.
    """

    def __init__(
        self, spec: Cfg, limits: CompileLimits, missing_bytes: frozenset[int], work: Work
    ) -> None:
        self._spelling = JSON_CONTENT if spec.in_json_string else UTF8
        self._network = build_network(read_grammar(spec), limits, missing_bytes, self._spelling)
        graph = CallGraph(self._network)
        check_longest_match(self._network, graph, max_states=limits.max_states)
        terminals = self._network.terminals
        begins = [live_bytes(dfa, dfa.start) for dfa in terminals]
        follows = Follows(self._network, graph, begins)
        self._brackets = find_brackets(self._network, begins)
        self._lexers = LexerTable(
            self._network, follows.after_terminal, self._spelling, limits.max_states, work
        )
        self._parser = Parser(self._network, limits.max_parse_items, work)
        self._ignored = frozenset(Scan(i, terminals[i].start) for i in self._network.ignored)
        self.start = Place(self._parser.start(), b"")

    @cached_property
    def lead_bytes(self) -> frozenset[int]:
        """The bytes that a character of a text may begin with."""
        found: frozenset[int] = frozenset()
        for text in self._network.texts:
            found |= lead_bytes_of(text.node, self._spelling)
        return found

    def ways(self, place: Place) -> Ways:
        """The ways on from a place.

        Raises:
            LimitExceededError: a budget is used up.
        """
        scans = self._parser.scans(place.items)
        wanted = set(scans)
        if scans and place.items != self.start.items:  # between terminals, not before the first
            wanted |= self._ignored
        lexer = self._lexers.find(wanted) if wanted else None
        if lexer is not None and place.prefix:
            lexer = self._lexers.after_prefix(lexer, place.prefix)
        return Ways(place, scans, lexer)

    def least_rest(self, place: Place) -> int:
        """What ends a text from a place at least, its prefix included, see `LeastRest`."""
        return self._parser.least_rest(place.items)

    def is_dead(self, place: Place) -> bool:
        """Whether what may follow does not begin with the prefix; without one, all can be ended."""
        return bool(place.prefix) and self.ways(place).lexer is None

    def move(self, ways: Ways, label: int) -> Place | BracketOpened | BracketClosed:
        """What comes after a label of the lexer has fired, a frame for each pair of brackets.

        Raises:
            LimitExceededError: a budget is used up.
        """
        ended = self._read(ways, label).ended
        terminals = {scan.terminal for scan in ended}
        if not self._brackets.opening.isdisjoint(terminals):
            waiting = self._parser.completed(_waiting(ways, ended))
            return BracketOpened(waiting, Place(self._parser.nested(waiting), b""))
        if not self._brackets.closing.isdisjoint(terminals):
            return BracketClosed(frozenset(_waiting(ways, ended)))
        return self.after(ways, label)

    def resumed(self, waiting: Items, ends: Items) -> Place:
        """The place after a closing bracket.

        Args:
            waiting: see `BracketOpened`.
            ends: see `BracketClosed`.

        Raises:
            LimitExceededError: a budget is used up.
        """
        return Place(self._parser.resumed(waiting, ends), b"")

    def after(self, ways: Ways, label: int) -> Place:
        """The place after a label of the lexer has fired, all that follows kept with its items.

        Raises:
            LimitExceededError: a budget is used up.
        """
        read = self._read(ways, label)
        kernel = _waiting(ways, read.ended)
        for opened in read.opened:
            waiting = ways.scans[opened.scan]
            kernel.update(self._parser.inside(opened.scan, waiting, opened.lexer))
        items = self._parser.completed(kernel)
        if not self._ignored.isdisjoint(read.ended):
            items |= ways.place.items - {END}  # a text does not end with what is ignored
        return Place(items, read.prefix)

    def _read(self, ways: Ways, label: int) -> Label:
        assert ways.lexer is not None
        return ways.lexer.labels[label - 1]


def _waiting(ways: Ways, ended: Iterable[Scan]) -> set[Item]:
    """The items after some terminals."""
    return {item for scan in ended for item in ways.scans.get(scan, ())}


def read_grammar(spec: Cfg) -> Grammar:
    """Read the text of a grammar.

    Raises:
        GrammarError: the grammar is malformed, or holds what is refused by name.
        LimitExceededError: it is longer than MAX_GRAMMAR_CHARS.
    """
    if len(spec.text) > MAX_GRAMMAR_CHARS:
        what = f"a grammar of {len(spec.text)} characters"
        raise LimitExceededError("max_grammar_chars", MAX_GRAMMAR_CHARS, what)
    match spec.syntax:
        case "gbnf":
            return read_gbnf(spec.text)
        case "lark":
            return read_lark(spec.text)
        case _:
            assert_never(spec.syntax)
