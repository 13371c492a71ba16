"""LeastTokens: a lower bound of the tokens of a text, found without tokenising it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_MOST_COMPOSED: Final = 4
"""Characters that a normaliser may compose into one (NFC; Unicode 16, section 3.11)."""


class LeastTokens:
    """The bound of one tokenizer.

    The longest tokens of most vocabularies are runs of one character (blanks, dashes). So runs are
    counted beside characters: no token covers more runs of a text than it has itself.

    Args:
        tokens: spellings of all tokens, not empty. One character stands for a byte or for a
            character of the text; either way it is at least as long as what it covers.
        normalises: whether texts are normalised before.
    """

    def __init__(self, tokens: Iterable[str], *, normalises: bool) -> None:
        spellings = [token for token in tokens if token]
        lengths = np.array([len(spelling) for spelling in spellings])
        starts = np.cumsum(lengths) - lengths
        is_first = _begins_run("".join(spellings))
        is_first[starts] = True
        self._longest = int(lengths.max())
        self._most_runs = int(np.add.reduceat(is_first.astype(np.int32), starts).max())
        self._normalises = normalises

    def of(self, text: str) -> int:
        """At least so many tokens, perhaps more."""
        least = max(len(text) // self._longest, int(_begins_run(text).sum()) // self._most_runs)
        return least // _MOST_COMPOSED if self._normalises and not text.isascii() else least


def _begins_run(text: str) -> NDArray[np.bool_]:
    """By character, whether it differs from the one before: bool, (len(text),)."""
    code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    begins = np.ones(len(code_points), np.bool_)
    np.not_equal(code_points[1:], code_points[:-1], out=begins[1:])
    return begins
