"""Numba kernel that finds the likeliest token of each row on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LANES = 16


@kernel
def find_largest(
    logits: NDArray[np.float32], largest: NDArray[np.float32], token_ids: NDArray[np.int64]
) -> None:
    """The largest logit of each row and its first place; NaN, and any place, where there is one.

    Args:
        logits: (num_rows, vocab_size).
        largest: (num_rows,), overwritten.
        token_ids: (num_rows,), overwritten.
    """
    lanes = np.empty(_LANES, np.float32)
    num_nans = np.empty(_LANES, np.int32)
    vocab_size = logits.shape[1]
    whole = vocab_size // _LANES * _LANES
    for row in range(logits.shape[0]):
        values = logits[row]
        for lane in range(_LANES):
            lanes[lane] = -np.inf
            num_nans[lane] = 0
        for begin in range(0, whole, _LANES):
            for lane in range(_LANES):
                value = values[begin + lane]
                # max() asks for NaN as well, and LLVM does not vectorise that.
                lanes[lane] = value if value > lanes[lane] else lanes[lane]  # noqa: FURB136
                num_nans[lane] += np.int32(value != value)
        for token in range(whole, vocab_size):
            value = values[token]
            lanes[0] = value if value > lanes[0] else lanes[0]  # noqa: FURB136
            num_nans[0] += np.int32(value != value)
        for lane in range(1, _LANES):
            lanes[0] = lanes[lane] if lanes[lane] > lanes[0] else lanes[0]  # noqa: FURB136
            num_nans[0] += num_nans[lane]
        largest[row] = np.nan if num_nans[0] > 0 else lanes[0]
        token_ids[row] = 0
        for token in range(vocab_size):
            if values[token] == lanes[0]:
                token_ids[row] = token
                break
