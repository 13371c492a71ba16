"""The default backend: Tightrope's own compiler behind the backend protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.compile import compile_grammar, compile_limited
from grammars.limits import CompileLimits
from grammars.spec import LimitedBlock

if TYPE_CHECKING:
    from grammars.protocol import CompiledGrammar
    from grammars.spec import GrammarSpec
    from grammars.vocabulary import Vocabulary


class TightropeBackend:
    """Compiles with `grammars.compile`.

    Args:
        limits: the counted budgets of every compile.
    """

    name = "tightrope"

    def __init__(self, limits: CompileLimits | None = None) -> None:
        self._limits = limits or CompileLimits()

    def compile(self, spec: GrammarSpec, vocabulary: Vocabulary) -> CompiledGrammar:
        if isinstance(spec, LimitedBlock):
            return compile_limited(spec, vocabulary, self._limits)
        return compile_grammar(spec, vocabulary, self._limits)
