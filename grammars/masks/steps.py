"""Steps: from a configuration to the next, by the automaton alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammars.masks.kernels.machine import FIRED_STATE
from grammars.masks.kernels.step import (
    COUNTED,
    IS_COMPLETE,
    IS_FRESH,
    LEXER,
    NUM_DROPPED,
    NUM_PUSHED,
    PUSHED,
    STATE,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grammars.masks.configuration import Configuration, ConfigurationTable
    from grammars.masks.runner import Runner
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.masks.trie import Trie


def _at_rest(configuration: Configuration) -> list[int]:
    """The columns of a point that is in a configuration, see `kernels.step`."""
    return [
        configuration.state,
        configuration.lexer,
        configuration.counted,
        configuration.is_fresh,
        configuration.is_complete,
        0,
        0,
    ]


class Steps:
    """All methods need `AutomatonTables.lock`, and may raise what the expander raises.

    Args:
        runner: calls the kernels.
        tokens: of the vocabulary.
        configurations: where configurations are shared.
    """

    def __init__(
        self, runner: Runner, tokens: TokenSymbols, configurations: ConfigurationTable
    ) -> None:
        self._runner = runner
        self._tokens = tokens
        self._configurations = configurations

    def start(self, root: int, lexer: int) -> Configuration:
        """The configuration in which a text begins: a structural state, its lexer's start."""
        fresh = self._configurations.configuration(
            root, lexer, 0, None, is_fresh=True, is_complete=False
        )
        nothing = np.zeros(0, np.uint16)
        fresh.is_complete = bool(self._runner.step(fresh, nothing)[IS_COMPLETE])
        return fresh

    def after(self, configuration: Configuration, token_id: int) -> Configuration | None:
        """The configuration after a token, None where it is refused."""
        return self.after_symbols(configuration, self._tokens.string(token_id))

    def after_symbols(
        self, configuration: Configuration, string: NDArray[np.uint16]
    ) -> Configuration | None:
        """The configuration after some symbols, None where one of them is refused."""
        result = self._runner.step(configuration, string)
        point = result[:PUSHED].tolist()
        if point[STATE] == 0:
            return None
        if point == _at_rest(configuration):
            return configuration
        pushed = result[PUSHED : PUSHED + point[NUM_PUSHED]].tolist()
        return self._at(configuration, point, pushed)

    def fired(self) -> list[list[int]]:
        """What fired in the last `after` that was not refused, see `Workspace.fired`."""
        fired = self._runner.fired
        if fired[0, FIRED_STATE] == 0:
            return []
        num_fired = int(np.argmin(fired[:, FIRED_STATE] != 0))
        rows: list[list[int]] = fired[:num_fired].tolist()
        return rows

    def after_all(
        self, configuration: Configuration
    ) -> tuple[NDArray[np.int32], list[Configuration]]:
        """Where each token leads to: 1 + an index into the configurations, 0 where it is refused.

        Returns:
            int32, (padded_size,); the configurations.
        """
        ends, following, _ = self.after_each(configuration, self._tokens.trie, halts=False)
        return ends, following

    def after_each(
        self, configuration: Configuration, trie: Trie, *, halts: bool
    ) -> tuple[NDArray[np.int32], list[Configuration], tuple[int, ...]]:
        """The same of the tokens of a trie, but for those that are empty.

        Args:
            configuration: where they are read.
            trie: of tokens, or of rests of tokens.
            halts: whether to stop at doors (`LexerColumn.IS_DOOR`), whose nodes come last.
        """
        ends = self._runner.ends(configuration, trie, halts=halts)
        pushes = ends.pushes.tolist()
        following = []
        for point in ends.points[1:].tolist():
            first, past = point[PUSHED], point[PUSHED] + point[NUM_PUSHED]
            following.append(self._at(configuration, point, pushes[first:past][::-1]))
        return ends.end_of_token, following, ends.doors

    def _at(
        self, configuration: Configuration, point: Sequence[int], pushed: Sequence[int]
    ) -> Configuration:
        """The configuration of a point (see `kernels.step`) with these frames pushed."""
        below = configuration.below
        for _ in range(point[NUM_DROPPED]):
            assert below is not None
            below = below.below
        for state in pushed:
            below = self._configurations.frame(state, below)
        return self._configurations.configuration(
            point[STATE],
            point[LEXER],
            point[COUNTED],
            below,
            is_fresh=bool(point[IS_FRESH]),
            is_complete=bool(point[IS_COMPLETE]),
        )
