"""Network: a trimmed grammar as automata that call each other; what parsing works on.

No rule and no terminal in it reads the empty text: where a rule could be empty, the places around a
call of it are joined. So every call reads something before it ends, and parsing never meets a
cycle that reads nothing. Unproductive parts are gone: every position has a finite way to its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grammars.automata.dfa import DEAD
from grammars.cfg.inlining import inline
from grammars.cfg.productive import find_texts
from grammars.cfg.rule_nfa import Edge, RuleNfa, is_call, rule_dfa
from grammars.cfg.sequences import find_sequence, sequence_edges
from grammars.cfg.terminals import TerminalMaker, is_nullable
from grammars.errors import LimitExceededError, UnsatisfiableError
from grammars.safepoints import popped, with_safepoints

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa
    from grammars.cfg.productive import Texts
    from grammars.cfg.rule_nfa import RuleDfa, Symbol
    from grammars.cfg.sequences import Rule, RuleSequence
    from grammars.cfg.spelling import Spelling
    from grammars.cfg.syntax import Expression, Grammar, Reference, Text
    from grammars.limits import CompileLimits

MAX_CHOICE_STATES: Final = 20_000
"""States of the nondeterministic automata of all rules but those that are sequences."""

MAX_RULE_EDGES: Final = 200_000
"""Edges of the deterministic automata of all rules."""


@dataclass(frozen=True, slots=True)
class Network:
    """A grammar; positions are numbered through all rules.

    Args:
        terminals: their automata, none with the empty text; those in use are not empty.
        texts: what they were made of.
        edges: by position, symbol -> position.
        is_final: by position, whether its rule may end there.
        rule_of: by position.
        starts: by rule, its first position, which no edge leads to; None where it is never called.
        root: the rule of whole texts; None where only the empty text is one.
        is_nullable: whether the empty text is a whole text.
        ignored: terminals that may stand anywhere between others.
        is_scannerless: see `Grammar`.
    """

    terminals: tuple[Dfa, ...]
    texts: tuple[Text, ...]
    edges: tuple[dict[Symbol, int], ...]
    is_final: tuple[bool, ...]
    rule_of: tuple[int, ...]
    starts: tuple[int | None, ...]
    root: int | None
    is_nullable: bool
    ignored: tuple[int, ...]
    is_scannerless: bool


def build_network(
    grammar: Grammar,
    limits: CompileLimits,
    missing_bytes: frozenset[int],
    spelling: Spelling,
) -> Network:
    """Build the network of a grammar.

    Args:
        grammar: as it was read.
        limits: budgets.
        spelling: of its characters.
        missing_bytes: bytes that the vocabulary cannot spell.

    Raises:
        UnsatisfiableError: the grammar has no text of finite length.
        LimitExceededError: a budget is used up.
        UnsupportedError: a terminal holds what is no text.
    """
    rules = inline(grammar)
    terminals = _Terminals(limits, missing_bytes, spelling)
    numbered = _numbered(rules, terminals, limits.max_states)
    ignored = [terminals.add(text)[0] for text in grammar.ignored]
    texts = find_texts(numbered, [dfa.is_empty for dfa in terminals.dfas])
    if not any(texts[0]):
        raise UnsatisfiableError(
            "no text of finite length matches: every way through it repeats without end or needs "
            "characters that cannot be written; give it another option",
            place=f"rule {grammar.start}",
        )
    positions = _Positions(numbered, texts, terminals.dfas, limits.max_states)
    if texts[0].is_productive:
        positions.add_from(0)
    return Network(
        tuple(terminals.dfas),
        tuple(terminals.texts),
        tuple(positions.edges),
        tuple(positions.is_final),
        tuple(positions.rule_of),
        tuple(positions.starts),
        0 if texts[0].is_productive else None,
        texts[0].is_nullable,
        tuple(dict.fromkeys(i for i in ignored if not terminals.dfas[i].is_empty)),
        grammar.is_scannerless,
    )


class _Terminals:
    """The texts of a grammar, each language once."""

    def __init__(
        self, limits: CompileLimits, missing_bytes: frozenset[int], spelling: Spelling
    ) -> None:
        self._max_terminals = limits.max_terminals
        self._maker = TerminalMaker(
            spelling, max_states=limits.max_states, missing_bytes=missing_bytes
        )
        self.dfas: list[Dfa] = []
        self.texts: list[Text] = []
        self._numbers: dict[Text, tuple[int, bool]] = {}
        self._seen: dict[int, tuple[Text, tuple[int, bool]]] = {}  # by id: a hash reads all of it

    def add(self, text: Text) -> tuple[int, bool]:
        """The number of a text, and whether it may be empty."""
        seen = self._seen.get(id(text))
        if seen is not None:
            return seen[1]
        known = self._numbers.get(text)
        if known is None:
            if len(self.dfas) == self._max_terminals:
                raise LimitExceededError("max_terminals", self._max_terminals, "a grammar")
            self.dfas.append(self._maker.make(text.node))
            self.texts.append(text)
            known = self._numbers[text] = (len(self.texts) - 1, is_nullable(text.node))
        self._seen[id(text)] = text, known  # which keeps the text, and so its id
        return known


def _numbered(rules: dict[str, Expression], terminals: _Terminals, max_states: int) -> list[Rule]:
    """The rules, with numbers in place of texts and names."""
    numbers = {name: i for i, name in enumerate(rules)}

    def rule(reference: Reference) -> int:
        return numbers[reference.rule]

    numbered: list[Rule] = []
    num_states = 0
    for expression in with_safepoints(rules.values()):
        sequence = find_sequence(expression, terminals.add, rule)
        if sequence is not None:
            numbered.append(sequence)
            continue
        nfa = RuleNfa(terminals.add, rule, max_states)
        nfa.build(expression)
        numbered.append(nfa)
        num_states += nfa.num_states
        _check(num_states, "max_choice_states", MAX_CHOICE_STATES)
    return numbered


def _check(number: int, limit: str, allowed: int) -> None:
    if number > allowed:
        raise LimitExceededError(limit, allowed, "a grammar")


class _Positions:
    """The positions of all rules that are reached, rule after rule."""

    def __init__(
        self, rules: list[Rule], texts: list[Texts], dfas: list[Dfa], max_states: int
    ) -> None:
        self.edges: list[dict[Symbol, int]] = []
        self.is_final: list[bool] = []
        self.rule_of: list[int] = []
        self.starts: list[int | None] = [None] * len(rules)
        self._rules = rules
        self._texts = texts
        self._dfas = dfas
        self._max_states = max_states
        self._num_edges = 0

    def add_from(self, root: int) -> None:
        """Add a rule and all that it calls."""
        pending = [root]
        for rule in popped(pending):
            if self.starts[rule] is None:
                base = self.starts[rule] = len(self.edges)
                self._add(self._rules[rule])
                self.rule_of += [rule] * (len(self.edges) - base)
                for row in self.edges[base:]:
                    pending += [symbol // 2 for symbol in row if is_call(symbol)]

    def _add(self, rule: Rule) -> None:
        if isinstance(rule, RuleNfa):
            num_states, end, edges = rule.num_states, rule.end, rule.edges
        elif not any(is_call(symbol) and self._texts[symbol // 2].is_nullable for symbol in rule):
            self._add_sequence(rule)
            return
        else:
            num_states, end, edges = len(rule) + 1, len(rule), sequence_edges(rule)
        dfa = rule_dfa(num_states, end, self._live(edges), max_states=self._max_states)
        assert dfa is not None, "only productive rules are called"
        self._add_dfa(dfa)

    def _add_sequence(self, sequence: RuleSequence) -> None:
        """Add the positions of a rule, each symbol of which has a text and none the empty one."""
        self._count_edges(len(sequence))
        self.edges += [{symbol: i} for i, symbol in enumerate(sequence, len(self.edges) + 1)]
        self.edges.append({})
        self.is_final += (False,) * len(sequence)
        self.is_final.append(True)

    def _add_dfa(self, dfa: RuleDfa) -> None:
        base = len(self.edges)
        self._count_edges(sum(map(len, dfa.edges)))
        self.edges += [{s: base + target for s, target in row.items()} for row in dfa.edges]
        self.is_final += dfa.is_final

    def _count_edges(self, num_edges: int) -> None:
        self._num_edges += num_edges
        _check(self._num_edges, "max_rule_edges", MAX_RULE_EDGES)

    def _live(self, edges: list[Edge]) -> list[Edge]:
        """The edges that have a text; calls that may be empty have one beside them that is."""
        kept: list[Edge] = []
        for edge in edges:
            if edge.symbol is None:
                kept.append(edge)
            elif is_call(edge.symbol):
                texts = self._texts[edge.symbol // 2]
                if texts.is_productive:
                    kept.append(edge)
                if texts.is_nullable:
                    kept.append(Edge(edge.source, None, edge.target))
            elif self._dfas[edge.symbol // 2].start != DEAD:
                kept.append(edge)
        return kept
