"""CompileLimits: counted budgets of a compile, so that the answer depends on the input alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_STEP_WORK: Final = 50_000
"""The default of `CompileLimits.max_step_work`: 25 to 40 milliseconds. Grammars of programming
languages come to a fifth of it."""


@dataclass(frozen=True, slots=True)
class CompileLimits:
    """Budgets in counted work units, never in seconds.

    Args:
        max_states: states of any one DFA (a pattern, an enum, a lexer), and of all terminals of a
            context-free grammar together; much work or a large table counts as more states.
        max_schema_nodes: distinct schema nodes (subschemas and conjunctions of them) evaluated.
        max_alternatives: object or array shapes of one value, side by side as in `anyOf`.
        max_products: shapes that a combination of unions comes to (`allOf` of `anyOf`, `oneOf` with
            overlaps, `not`), after all that is seen to be empty or superfluous is left out.
        max_comparisons: members of objects that are looked at where unions are combined, over the
            whole schema.
        max_structural_states: structural states of one grammar, made lazily while it is used.
        max_table_bytes: bytes of automaton tables of one grammar. Where a text comes to that in the
            middle, it goes on in fresh tables.
        renew_table_bytes: bytes of tables at which later texts begin with fresh ones.
        max_places: places looked at in one array whose elements are counted, or in one object with
            conditions on its keys, each once for every way to it; and members that one must have.
        max_witness_sets: sets of conditions (such as `contains`) that one member can meet.
        max_key_operations: combinations of languages of keys (`patternProperties`) in one schema.
        max_distinct_keys: undeclared keys that are demanded together, each with a value of its own.
        max_unique_items: elements of one array that must be there and differ from each other.
        max_evaluation_cases: sets of branches that decide together what `unevaluated*` applies to.
        max_evaluation_depth: branches inside each other, looked at for `unevaluated*`.
        max_terminals: distinct texts of a context-free grammar, between which it has rules.
        max_parse_items: places in a context-free grammar that one place in a text may be at, and
            that may follow them; only grammars of great ambiguity come near it.
        max_step_work: what the mask or the reading of one token may make of the automaton for the
            first time, in parts of about half a microsecond; only ambiguous grammars come near it.
    """

    max_states: int = 100_000
    max_schema_nodes: int = 100_000
    max_alternatives: int = 1_000
    max_products: int = 512
    max_comparisons: int = 1_000_000
    max_structural_states: int = 1_000_000
    max_table_bytes: int = 256 * 1024 * 1024
    renew_table_bytes: int = 64 * 1024 * 1024
    max_places: int = 50_000
    max_witness_sets: int = 64
    max_key_operations: int = 3_000
    max_distinct_keys: int = 8
    max_unique_items: int = 4_096
    max_evaluation_cases: int = 256
    max_evaluation_depth: int = 32
    max_terminals: int = 4_000
    max_parse_items: int = 2_000
    max_step_work: int = MAX_STEP_WORK
