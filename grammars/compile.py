"""compile_grammar: from a spec and a vocabulary to a compiled grammar, or a named refusal."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final, assert_never

from grammars.cfg.steps import CfgSteps
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.masks.limited_block import LimitedGrammar
from grammars.masks.renewal import RenewedGrammar
from grammars.pushdown.cfg_states import CfgStates
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import (
    Cfg,
    Choice,
    Embed,
    FreeText,
    JsonObject,
    JsonSchema,
    Literal,
    Regex,
    Sequence,
    Structure,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.spec import LimitedBlock, Part, TextSpec
    from grammars.vocabulary import Vocabulary

_DEFAULT_LIMITS: Final = CompileLimits()

_BASE_BYTES: Final = 16_384
_BYTES_PER_CHARACTER: Final = 24
"""What the schema and its values take, about (measured with tracemalloc over 80 schemas)."""


def compile_grammar(
    spec: TextSpec, vocabulary: Vocabulary, limits: CompileLimits | None = None
) -> RenewedGrammar:
    """Compile a spec for a vocabulary.

    What can be refused is refused here: what compiles is enforced whole and has no dead end.

    Args:
        spec: what texts are allowed.
        vocabulary: the tokens of the model.
        limits: budgets; None takes the defaults.

    Raises:
        UnsupportedError: a keyword or construct is not enforced; names it and its JSON Pointer.
        InvalidGrammarError: the spec is malformed.
        UnsatisfiableError: no text satisfies it.
        LimitExceededError: a budget is used up.
    """
    limits = _DEFAULT_LIMITS if limits is None else limits
    row_ids = count()
    return RenewedGrammar(
        lambda: _automaton(spec, vocabulary, limits, row_ids),
        renew_bytes=limits.renew_table_bytes,
        base_bytes=_BASE_BYTES + _BYTES_PER_CHARACTER * len(_text(spec)),
    )


def compile_limited(
    spec: LimitedBlock, vocabulary: Vocabulary, limits: CompileLimits | None = None
) -> LimitedGrammar:
    """The same for texts whose block at the beginning is limited.

    Raises:
        GrammarError: as `compile_grammar`.
    """
    begin = (Literal(spec.begin),) if spec.begin else ()
    block = Structure(Sequence((*begin, FreeText(end=spec.end), FreeText())))
    return LimitedGrammar(
        spec,
        compile_grammar(spec.spec, vocabulary, limits),
        compile_grammar(block, vocabulary, limits),
    )


def _automaton(
    spec: TextSpec, vocabulary: Vocabulary, limits: CompileLimits, row_ids: Iterator[int]
) -> AutomatonGrammar:
    """The automaton of a spec, as it is before any text."""
    tables = AutomatonTables(max_bytes=limits.max_table_bytes, max_step_work=limits.max_step_work)
    states: StructuralStates | CfgStates
    distinct = None
    if isinstance(spec, Cfg):
        grammar = CfgSteps(spec, limits, vocabulary.missing_bytes, tables.work)
        states = CfgStates(grammar, tables, limits)
    else:
        states = StructuralStates(_root_part(spec), tables, vocabulary, limits)
        distinct = states if states.has_distinct_texts else None
    return AutomatonGrammar(
        tables, states, states.root, vocabulary, distinct=distinct, row_ids=row_ids
    )


def _text(spec: TextSpec) -> str:
    return spec.text if isinstance(spec, JsonSchema | Cfg) else repr(spec)


def _root_part(spec: JsonSchema | JsonObject | Regex | Choice | Structure) -> Part:
    match spec:
        case Structure(root):
            return root
        case JsonSchema() | JsonObject() | Regex() | Choice():
            return Embed(spec)
        case _:
            assert_never(spec)
