"""Slices: what a lexer state alone says of the whole vocabulary, shared by all that read with it.

From an open JSON string, most tokens stay inside the string whatever the structure around it is. A
slice has those as one row, and the few that leave the lexer grouped by what is left of them then: a
structural state has only to fire the label and to walk the small trie of these rests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.automata.kernels import kernel
from grammars.masks.safe_runs import find_safe_runs
from grammars.masks.token_sorting import sort_strings, sort_tokens
from grammars.masks.trie import build_trie
from grammars.pushdown.table_rows import owed_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.automata.dfa import Dfa
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.masks.trie import Trie

MAX_LEAVING_TOKENS: Final = 1 << 15
"""A state that more tokens leave gains nothing from a slice; a walk drops most of them at once."""

_MAX_ROWS: Final = 16
"""Rows of inner tokens, by the characters that are left, that one slice keeps."""


@dataclass(frozen=True, slots=True, eq=False)
class Exit:
    """Tokens in whose middle or at whose end one label fires.

    Args:
        label: of the lexer.
        is_checked: whether the label ends a counted string, which too few characters refuse.
        rests: a trie of what is left to read of each token after the label.
        num_counted: uint16, (num_tokens,); the characters that each token adds before the label.
    """

    label: int
    is_checked: bool
    rests: Trie
    num_counted: NDArray[np.uint16]


class Slice:
    """All tokens that a lexer state can read or begin to read.

    Args:
        exits: the tokens that fire a label.
        inner_ids: int32; the tokens that fire none, by the number of characters they count, those
            that are then still owed among them.
        inner_end: int64, (largest number + 1,); the first `inner_end[k]` of them count at most k.
        num_words: words of a bitmask row.
    """

    def __init__(
        self,
        exits: tuple[Exit, ...],
        inner_ids: NDArray[np.int32],
        inner_end: NDArray[np.int64],
        num_words: int,
    ) -> None:
        self.exits = exits
        self._inner_ids = inner_ids
        self._inner_end = inner_end
        self._rows: dict[int, NDArray[np.uint32]] = {}
        self._num_words = num_words

    def inner_row(self, most: int) -> NDArray[np.uint32]:
        """The row, read-only, of the inner tokens that count at most `most` characters."""
        most = min(most, len(self._inner_end) - 1)
        row = self._rows.get(most)
        if row is None:
            if len(self._rows) == _MAX_ROWS:
                self._rows.clear()
            row = np.zeros(self._num_words, np.uint32)
            _set_bits(row, self._inner_ids[: self._inner_end[most]])
            self._rows[most] = row
        return row

    @property
    def memory_bytes(self) -> int:
        """Bytes of the arrays, with all the rows that can be kept."""
        rests = sum(leaving.rests.memory_bytes for leaving in self.exits)
        return self._inner_ids.nbytes + 4 * self._num_words * _MAX_ROWS + rests


def build_slice(tokens: TokenSymbols, dfa: Dfa, state: int, num_words: int) -> Slice | None:
    """The slice of a lexer state; None where MAX_LEAVING_TOKENS or more tokens leave it.

    Args:
        tokens: of the vocabulary.
        dfa: the automaton.
        state: a live state of it.
        num_words: words of a bitmask row.
    """
    owed = owed_of(dfa)
    inner_ids, inner_counts, leaving = sort_tokens(
        tokens.trie.nodes,
        tokens.trie.token_ids,
        tokens.longest,
        *tokens.subtrees,
        dfa.symbol_class,
        dfa.next_state,
        dfa.label,
        dfa.char_boundary,
        owed,
        state,
        *find_safe_runs(dfa, state, owed),
        MAX_LEAVING_TOKENS,
    )
    if len(leaving) == MAX_LEAVING_TOKENS:
        return None
    if dfa.char_boundary.any():
        inner_ids = inner_ids[np.argsort(inner_counts, kind="stable")]
        inner_end = np.cumsum(np.bincount(inner_counts, minlength=1))
    else:
        inner_ids = inner_ids.copy()  # it is the beginning of a larger array
        inner_end = np.array([len(inner_ids)])
    kind = 2 * leaving[:, 2] + leaving[:, 3]
    exits = (_build_exit(tokens, leaving[kind == one]) for one in np.unique(kind))
    return Slice(tuple(exits), inner_ids, inner_end, num_words)


def _build_exit(tokens: TokenSymbols, leaving: NDArray[np.int32]) -> Exit:
    """The exit of leaving tokens (columns as in `sort_tokens`) of one label."""
    begin = tokens.begin[leaving[:, 0]] + leaving[:, 4]
    end = tokens.end[leaving[:, 0]]
    order = sort_strings(tokens.symbols, begin, end)
    return Exit(
        label=int(leaving[0, 2]),
        is_checked=bool(leaving[0, 3]),
        rests=build_trie(tokens.symbols, begin[order], end[order], leaving[order, 0].copy()),
        num_counted=leaving[order, 1].astype(np.uint16),
    )


@kernel
def _set_bits(row: NDArray[np.uint32], token_ids: NDArray[np.int32]) -> None:
    for token_id in token_ids:
        row[token_id >> 5] |= np.uint32(1) << np.uint32(token_id & 31)
