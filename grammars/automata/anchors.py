"""Anchors inside a pattern: an NFA whose states also know where in the text they are."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from grammars.automata.pattern_ast import Anchor
from grammars.automata.subset import Nfa

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Place(IntEnum):
    """Whether a character has been read, and whether a $ has promised that none follows."""

    FRESH = 0
    READ = 1
    FRESH_ENDED = 2
    ENDED = 3


_NUM_PLACES = len(_Place)
_MOVES_ON_CHARACTER = ((_Place.FRESH, _Place.READ), (_Place.READ, _Place.READ))
_MOVES_ON_ANCHOR = {
    Anchor.START: ((_Place.FRESH, _Place.FRESH), (_Place.FRESH_ENDED, _Place.FRESH_ENDED)),
    Anchor.END: (
        (_Place.FRESH, _Place.FRESH_ENDED),
        (_Place.READ, _Place.ENDED),
        (_Place.FRESH_ENDED, _Place.FRESH_ENDED),
        (_Place.ENDED, _Place.ENDED),
    ),
}


def resolve_anchors(nfa: Nfa, anchors: list[tuple[int, Anchor, int]]) -> Nfa:
    """The NFA in which each anchor edge (source, anchor, target) can be passed just where it holds.

    State s at place p becomes state 4 * s + p. A branch with an anchor in an impossible place
    leads nowhere.
    """
    every_place = tuple((place, place) for place in _Place)
    epsilons = [_moved(nfa.epsilon_source, nfa.epsilon_target, every_place)]
    for anchor, moves in _MOVES_ON_ANCHOR.items():
        edges = [(source, target) for source, kind, target in anchors if kind is anchor]
        source, target = np.array(edges, np.int32).reshape(-1, 2).T
        epsilons.append(_moved(source, target, moves))
    epsilon_source, epsilon_target = np.concatenate(epsilons, axis=1)
    source, target = _moved(nfa.source, nfa.target, _MOVES_ON_CHARACTER)
    return Nfa(
        num_states=_NUM_PLACES * nfa.num_states,
        start=_NUM_PLACES * nfa.start + _Place.FRESH,
        epsilon_source=epsilon_source,
        epsilon_target=epsilon_target,
        source=source,
        low=np.tile(nfa.low, len(_MOVES_ON_CHARACTER)),
        high=np.tile(nfa.high, len(_MOVES_ON_CHARACTER)),
        target=target,
        accepting=np.repeat(nfa.accepting, _NUM_PLACES),
        num_symbols=nfa.num_symbols,
        accepts_all=None
        if nfa.accepts_all is None
        else _NUM_PLACES * nfa.accepts_all + _Place.READ,
    )


def _moved(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    moves: tuple[tuple[_Place, _Place], ...],
) -> NDArray[np.int32]:
    """The edges once for each move from place to place: int32, (2, num_edges * len(moves))."""
    return np.concatenate(
        [
            np.stack((_NUM_PLACES * source + before, _NUM_PLACES * target + after))
            for before, after in moves
        ],
        axis=1,
    ).astype(np.int32)
