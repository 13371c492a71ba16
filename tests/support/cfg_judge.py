"""Whole texts judged by a context-free grammar, read byte by byte with the plain reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammars.cfg.steps import CfgSteps
from grammars.limits import CompileLimits
from grammars.masks.reference import ReferenceWalk
from grammars.pushdown.cfg_states import CfgStates
from grammars.pushdown.tables import AutomatonTables
from tests.support.byte_vocabulary import byte_vocabulary

if TYPE_CHECKING:
    from grammars.masks.reference import PlainConfiguration
    from grammars.spec import Cfg


class CfgJudge:
    """Judges texts and beginnings of texts.

    Args:
        spec: the grammar.
        limits: budgets.
        is_plain: see `CfgStates`.
    """

    def __init__(
        self, spec: Cfg, limits: CompileLimits | None = None, *, is_plain: bool = False
    ) -> None:
        limits = limits or CompileLimits()
        self.tables = AutomatonTables()
        grammar = CfgSteps(spec, limits, frozenset(), self.tables.work)
        self.states = CfgStates(grammar, self.tables, limits, is_plain=is_plain)
        self._walk = ReferenceWalk(self.tables, self.states, byte_vocabulary())

    def accepts(self, text: str) -> bool:
        """Whether the text is allowed as a whole."""
        read = self._read(text)
        return read is not None and self._walk.is_complete(read)

    def begins(self, text: str) -> bool:
        """Whether the text is the beginning of an allowed one."""
        return self._read(text) is not None

    def least_rest(self, text: str) -> int | None:
        """`CfgStates.least_rest` behind a beginning; None where that is no state's."""
        read = self._read(text)
        return self.states.least_rest(read.state) if read is not None and read.is_fresh else None

    def _read(self, text: str) -> PlainConfiguration | None:
        return self._walk.read(self._walk.start(self.states.root), text.encode())
