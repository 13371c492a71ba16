"""Contexts: the schemas and grammars that a structure embeds, each compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.cfg.steps import CfgSteps
from grammars.pushdown.layouts import JsonContext
from grammars.pushdown.lexers import lexer_of
from grammars.pushdown.meetings import check_meetings
from grammars.schema.graph import ValueGraph
from grammars.spec import JsonSchema

if TYPE_CHECKING:
    from grammars.limits import CompileLimits
    from grammars.pushdown.terminals import Terminal
    from grammars.spec import Cfg, JsonObject
    from grammars.work import Work


class Contexts:
    """What is known of embedded specs.

    Args:
        limits: compile budgets.
        missing_bytes: bytes that the vocabulary cannot spell.
        work: counts that of grammars.
    """

    def __init__(self, limits: CompileLimits, missing_bytes: frozenset[int], work: Work) -> None:
        self._limits = limits
        self._missing_bytes = missing_bytes
        self._work = work
        self._schemas: dict[JsonSchema | JsonObject, JsonContext] = {}
        self._grammars: dict[Cfg, CfgSteps] = {}

    @property
    def has_distinct_texts(self) -> bool:
        """Whether there are elements or keys that must differ, see `distinct`."""
        return any(context.has_distinct_texts for context in self._schemas.values())

    @property
    def may_repeat_keys(self) -> bool:
        """Whether there are undeclared keys that must differ."""
        return any(context.may_repeat_keys for context in self._schemas.values())

    def of_schema(self, spec: JsonSchema | JsonObject) -> JsonContext:
        """The context of a schema.

        Raises:
            GrammarError: it is refused.
        """
        known = self._schemas.get(spec)
        if known is None:
            text = spec.text if isinstance(spec, JsonSchema) else '{"type": "object"}'
            graph = ValueGraph(text, self._limits, self._missing_bytes)
            known = JsonContext(graph, spec.whitespace, spec.property_order)
            check_meetings(known, self._try_members)
            self._schemas[spec] = known
        return known

    def _try_members(self, terminals: tuple[Terminal, ...]) -> object:
        return lexer_of(terminals, self._limits.max_states, self._missing_bytes, has_first=True)

    def of_grammar(self, spec: Cfg) -> CfgSteps:
        """The steps of a context-free grammar.

        Raises:
            GrammarError: it is refused.
        """
        known = self._grammars.get(spec)
        if known is None:
            known = CfgSteps(spec, self._limits, self._missing_bytes, self._work)
            self._grammars[spec] = known
        return known
