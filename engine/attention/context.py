"""AttentionContext: what one step's attention layers need to know about the flat batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from engine.kv_cache import KVCache


@dataclass(frozen=True, slots=True)
class AttentionContext:
    """One step, for all layers. T tokens of n sequences lie one after the other.

    The first `query_start[n]` tokens are real; what follows is padding, stored in the null block
    and attended by nobody. Arrays are on the host; tensors are on the model's device.

    Args:
        kv_cache: the pool.
        backend: computes the attention.
        query_start: int32, (n + 1,); tokens query_start[i] .. query_start[i + 1] are sequence i's.
        seq_lens: int32, (n,); tokens of sequence i in the pool once this step has stored its own.
        block_tables: int32, (n, max_blocks); block ids of sequence i, padded with the null block.
        slot_mapping: int64, (T,); slot of each token in the pool.
        device_block_tables: `block_tables` on the model's device.
        device_seq_lens: `seq_lens` on the model's device.
    """

    kv_cache: KVCache
    backend: AttentionBackend
    query_start: NDArray[np.int32]
    seq_lens: NDArray[np.int32]
    block_tables: NDArray[np.int32]
    slot_mapping: torch.Tensor
    device_block_tables: torch.Tensor
    device_seq_lens: torch.Tensor

    @property
    def num_seqs(self) -> int:
        """How many sequences are in the batch."""
        return len(self.seq_lens)

    @property
    def query_lens(self) -> NDArray[np.int32]:
        """int32, (n,); new tokens of each sequence."""
        return np.diff(self.query_start)


@dataclass(frozen=True, slots=True)
class AttentionOptions:
    """What a layer asks of its attention.

    Args:
        scaling: factor of the scores.
        sliding_window: a token sees itself and `sliding_window` - 1 before it; None: all before.
        softcap: scores become softcap * tanh(score / softcap) (Gemma 2, arXiv:2408.00118,
            section 2); None: as they are.
        sinks: (num_heads,), float; a score beside those of the tokens, with a value of zeros, which
            takes its share of the weights (gpt-oss, arXiv:2508.10925, section 2.2); None: no sinks.
    """

    scaling: float
    sliding_window: int | None
    softcap: float | None
    sinks: torch.Tensor | None = None


class AttentionBackend(Protocol):
    """Stores the step's keys and values, then attends: causal, each sequence to itself alone."""

    def __call__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        layer_idx: int,
        context: AttentionContext,
        options: AttentionOptions,
    ) -> torch.Tensor:
        """Attend one layer.

        Args:
            query: (T, num_heads, key_size).
            key: (T, num_kv_heads, key_size); num_heads is a multiple of num_kv_heads.
            value: (T, num_kv_heads, value_size).
            layer_idx: which layer of the pool; written in place at `context.slot_mapping`.
            context: the step.
            options: scaling, window, softcap and sinks.

        Returns:
            (T, num_heads, value_size), of the query's dtype; zeros in padding rows.
        """
        ...
