"""Paged attention on the CPU: the numba kernels, shared out over a few threads when it pays."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from engine.attention.cpu_kernel import attend_rows, store_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.attention.context import AttentionContext, AttentionOptions

_MIN_MULTIPLICATIONS_PER_SHARE: Final = 500_000
"""Below this a second thread costs more (about 30 µs to wake) than it saves."""

_NO_SINKS: Final = np.zeros(0, np.float32)


class CpuAttention:
    """`AttentionBackend` with float32 keys and values; queries of other dtypes are converted.

    Args:
        num_threads: how many threads may share the rows of one layer.
    """

    def __init__(self, num_threads: int) -> None:
        self._num_threads = num_threads
        self._executor = ThreadPoolExecutor(max(1, num_threads - 1), "tightrope-attention")
        self._rows: tuple[AttentionContext, NDArray[np.int32], NDArray[np.int32]] | None = None

    def __call__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        layer_idx: int,
        context: AttentionContext,
        options: AttentionOptions,
    ) -> torch.Tensor:
        layer = context.kv_cache.layers[layer_idx]
        slot_mapping = context.slot_mapping.numpy()
        for source, pool in ((key, layer.key), (value, layer.value)):
            store_tokens(_as_array(source), slot_mapping, pool.flatten(0, 1).numpy())
        row_sequence, row_length = self._get_rows(context)
        output = np.zeros((*query.shape[:2], layer.value.shape[-1]), np.float32)
        rows_query = _as_array(query)
        sinks = _NO_SINKS if options.sinks is None else _as_array(options.sinks.detach())

        def attend(first_row: int, last_row: int) -> None:
            attend_rows(
                rows_query,
                layer.key.numpy(),
                layer.value.numpy(),
                context.block_tables,
                row_sequence,
                row_length,
                first_row,
                last_row,
                np.float32(options.scaling),
                options.sliding_window or 0,
                np.float32(options.softcap or 0),
                sinks,
                output,
            )

        bounds = self._share_out(row_length, query.shape[1] * query.shape[2] * 2)
        shares = [
            self._executor.submit(attend, first, last)
            for first, last in itertools.pairwise(bounds[1:])
        ]
        attend(bounds[0], bounds[1])
        for share in shares:
            share.result()
        return torch.from_numpy(output).to(query.dtype)

    def _get_rows(self, context: AttentionContext) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The sequence and the visible length of each real row; computed once a step."""
        if self._rows is None or self._rows[0] is not context:
            sequences = np.arange(context.num_seqs, dtype=np.int32)
            row_sequence = np.repeat(sequences, context.query_lens)
            # The last row of a sequence sees seq_len tokens, the one before it one less, and so on.
            rows_after = context.query_start[row_sequence + 1] - np.arange(len(row_sequence)) - 1
            row_length = (context.seq_lens[row_sequence] - rows_after).astype(np.int32)
            self._rows = (context, row_sequence, row_length)
        return self._rows[1], self._rows[2]

    def _share_out(self, row_length: NDArray[np.int32], cost_per_token: int) -> list[int]:
        """Bounds of shares of rows with about the same work each."""
        work = np.cumsum(row_length, dtype=np.int64) * cost_per_token
        total = int(work[-1]) if len(work) else 0
        num_shares = max(1, min(self._num_threads, total // _MIN_MULTIPLICATIONS_PER_SHARE))
        targets = [total * share // num_shares for share in range(1, num_shares)]
        return [0, *np.searchsorted(work, targets).tolist(), len(row_length)]


def _as_array(tensor: torch.Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.to(torch.float32).contiguous().numpy()
    return array
