"""DistinctConfigurations: configurations of texts that remember what must not be written again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.masks.configuration import WINDOW_SIZE, Configuration
from grammars.masks.distinct_tokens import DistinctTokens
from grammars.masks.distinct_walk import DistinctPoint, DistinctWalk
from grammars.masks.reference import PlainConfiguration, ReferenceWalk

if TYPE_CHECKING:
    from grammars.masks.configuration import ConfigurationTable
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.protocol import Bitmask
    from grammars.pushdown.structural import StructuralStates
    from grammars.pushdown.tables import AutomatonTables
    from grammars.vocabulary import Vocabulary

_OPENING: Final = frozenset(b"[{")


class DistinctConfigurations:
    """Steps and masks where texts must differ; all methods need `AutomatonTables.lock`.

    Args:
        tables: the automaton.
        states: the structural layer that expands it.
        vocabulary: the tokens.
        tokens: of the vocabulary.
        is_plain: whether masks are made token by token, as their reference.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        states: StructuralStates,
        vocabulary: Vocabulary,
        tokens: TokenSymbols,
        *,
        is_plain: bool = False,
    ) -> None:
        self._plain_walk = ReferenceWalk(tables, states, vocabulary)
        self._walk = DistinctWalk(self._plain_walk, states, tables)
        self._reader = DistinctTokens(self._walk, tokens, vocabulary)
        self._tokens = tokens
        self._is_plain = is_plain

    def concerns(self, configuration: Configuration, token_id: int) -> bool:
        """Whether a step is taken here: in a frame of distinct texts, or perhaps into one."""
        if configuration.point is not None:
            return True
        begin, end = self._tokens.begin[token_id], self._tokens.end[token_id]
        return not _OPENING.isdisjoint(self._tokens.symbols[begin:end].tolist())

    def step(
        self, configuration: Configuration, token_id: int, table: ConfigurationTable
    ) -> Configuration | None:
        """The configuration after a token, None where it is refused.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        point = self._reader.read(_point(configuration), token_id)
        return None if point is None else self._configuration(point, table)

    def refused(self, configuration: Configuration, words: Bitmask) -> list[int]:
        """The tokens that the automaton allows and that would repeat what must differ.

        Args:
            configuration: where.
            words: the tokens that the automaton allows.
        """
        refused = self._reader.refused_by_scan if self._is_plain else self._reader.refused
        return refused(_point(configuration), words)

    def free_configurations(
        self, configuration: Configuration, table: ConfigurationTable
    ) -> list[tuple[int, Configuration]]:
        """Where a text that may still become an earlier one can leave them, and in how many bytes.

        The nearest ones; where the text is free already, itself.
        """
        nearest = None
        found: dict[PlainConfiguration, tuple[int, Configuration]] = {}
        for num_bytes, point in self._walk.nearest_free(_point(configuration)):
            nearest = num_bytes if nearest is None else nearest
            if num_bytes > nearest:
                break
            if point.plain not in found:
                found[point.plain] = num_bytes, self._configuration(point, table)
        return list(found.values())

    def _configuration(self, point: DistinctPoint, table: ConfigurationTable) -> Configuration:
        plain, below = point.plain, None
        for state in reversed(plain.below):
            below = table.frame(state, below)
        if not point.frames:
            return table.configuration(
                plain.state,
                plain.lexer,
                plain.counted,
                below,
                is_fresh=plain.is_fresh,
                is_complete=self._plain_walk.is_complete(plain),
            )
        window = np.array(plain.below[:WINDOW_SIZE], np.int64)
        return Configuration(
            plain.state,
            plain.lexer,
            plain.counted,
            plain.is_fresh,
            False,  # the frames are still open
            below,
            window,
            point=point,
        )


def _point(configuration: Configuration) -> DistinctPoint:
    if configuration.point is not None:
        return configuration.point
    below = configuration.below
    return DistinctPoint(
        PlainConfiguration(
            configuration.state,
            configuration.lexer,
            configuration.counted,
            configuration.is_fresh,
            () if below is None else below.states(),
        )
    )
