"""compile_grammar: from a spec and a vocabulary to a compiled grammar, or a named refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from grammars.cfg.steps import CfgSteps
from grammars.errors import InvalidGrammarError
from grammars.limits import CompileLimits
from grammars.masks.compiled import AutomatonGrammar
from grammars.pushdown.cfg_states import CfgStates
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Cfg, Choice, Embed, JsonObject, JsonSchema, Regex, Structure

if TYPE_CHECKING:
    from grammars.spec import GrammarSpec, Part
    from grammars.vocabulary import Vocabulary


def compile_grammar(
    spec: GrammarSpec, vocabulary: Vocabulary, limits: CompileLimits | None = None
) -> AutomatonGrammar:
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
    limits = CompileLimits() if limits is None else limits
    tables = AutomatonTables(max_bytes=limits.max_table_bytes)
    states: StructuralStates | CfgStates
    if isinstance(spec, Cfg):
        grammar = CfgSteps(spec, limits, vocabulary.missing_bytes)
        states = CfgStates(grammar, tables, limits)
    else:
        states = StructuralStates(_root_part(spec), tables, vocabulary, limits)
    return AutomatonGrammar(tables, states, states.root, vocabulary)


def _root_part(spec: JsonSchema | JsonObject | Regex | Choice | Structure) -> Part:
    match spec:
        case Structure(root):
            return root
        case Choice(options) if not options:
            raise InvalidGrammarError("a choice needs at least one option", keyword="Choice")
        case JsonSchema() | JsonObject() | Regex() | Choice():
            return Embed(spec)
        case _:
            assert_never(spec)
