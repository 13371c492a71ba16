"""CompiledCfg: a grammar from its text to what parsing works on; kept by text, shared by uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from grammars.cfg.follow import Follows, live_bytes
from grammars.cfg.gbnf import read_gbnf
from grammars.cfg.lark import read_lark
from grammars.cfg.lexers import LexerTable
from grammars.cfg.longest_match import check_longest_match
from grammars.cfg.network import build_network
from grammars.cfg.parsing import Parser, Scan

if TYPE_CHECKING:
    from grammars.cfg.syntax import Grammar
    from grammars.limits import CompileLimits
    from grammars.spec import Cfg


@dataclass(frozen=True, slots=True)
class CompiledCfg:
    """A grammar that parsing can begin with.

    Args:
        parser: sets of items.
        lexers: of the terminals that may come next.
        ignored: scans of the terminals that may come at any time.
    """

    parser: Parser
    lexers: LexerTable
    ignored: frozenset[Scan]


def read_grammar(spec: Cfg) -> Grammar:
    """Read the text of a grammar.

    Raises:
        GrammarError: the grammar is malformed, or holds what is refused by name.
    """
    match spec.syntax:
        case "gbnf":
            return read_gbnf(spec.text)
        case "lark":
            return read_lark(spec.text)
        case _:
            assert_never(spec.syntax)


def compile_cfg(spec: Cfg, limits: CompileLimits, missing_bytes: frozenset[int]) -> CompiledCfg:
    """Compile a grammar.

    Args:
        spec: its text.
        limits: budgets.
        missing_bytes: bytes that the vocabulary cannot spell.

    Raises:
        GrammarError: the grammar is malformed, has no text, or is refused by name.
    """
    grammar = read_grammar(spec)
    network = build_network(grammar, limits, missing_bytes)
    check_longest_match(network, max_states=limits.max_states)
    first_bytes = [live_bytes(dfa, dfa.start) for dfa in network.terminals]
    lexers = LexerTable(network, Follows(network, first_bytes).after_terminal, limits.max_states)
    ignored = frozenset(Scan(i, network.terminals[i].start) for i in network.ignored)
    return CompiledCfg(Parser(network, limits.max_parse_items), lexers, ignored)
