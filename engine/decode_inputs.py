"""DecodeInputs: what the model reads in a step of one token a row, in tensors that never move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from engine.attention.context import AttentionContext
from engine.attention.interface import run_flat_batch
from engine.block_pool import NULL_BLOCK
from engine.transfer import copy_from_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from transformers import PreTrainedModel

    from engine.attention.context import AttentionBackend
    from engine.kv_cache import KVCache


class DecodeInputs:
    """The rows of a step; each attends to its own token and to all before it in its blocks.

    Args:
        size: rows.
        max_blocks: blocks of the longest sequence.
        device: of the model.

    Attributes:
        token_ids: int64, (size,).
        positions: int64, (size,).
        block_tables: int32, (size, max_blocks).
    """

    def __init__(self, size: int, max_blocks: int, device: torch.device) -> None:
        self._tokens = torch.zeros((2, size), dtype=torch.int64, device=device)
        self.token_ids, self.positions = self._tokens
        self.block_tables = torch.full(
            (size, max_blocks), NULL_BLOCK, dtype=torch.int32, device=device
        )
        self.logits_rows = torch.arange(size, device=device)
        self.query_start = np.arange(size + 1, dtype=np.int32)

    def clear(self) -> None:
        """Make every row padding: it reads and writes the null block alone."""
        self._tokens.zero_()
        self.block_tables.fill_(NULL_BLOCK)

    def load(
        self,
        token_ids: Sequence[int] | NDArray[np.int64],
        positions: Sequence[int] | NDArray[np.int64],
        block_tables: NDArray[np.int32],
    ) -> None:
        """Put the rows in, without waiting for the device; what is left over pads.

        Args:
            token_ids: of n rows, at most `size`.
            positions: of the tokens.
            block_tables: (n, width), with at least the blocks that each position needs.
        """
        size, num_rows = len(self.token_ids), len(token_ids)
        tokens = np.zeros((2, size), np.int64)
        tokens[0, :num_rows] = token_ids
        tokens[1, :num_rows] = positions
        # What stands behind the widest table is of rows before, and nobody looks there.
        tables = np.full((size, block_tables.shape[1]), NULL_BLOCK, np.int32)
        tables[:num_rows] = block_tables
        copy_from_host(tokens, self._tokens)
        copy_from_host(tables, self.block_tables[:, : tables.shape[1]])


def run_decodes(
    model: PreTrainedModel, kv_cache: KVCache, backend: AttentionBackend, inputs: DecodeInputs
) -> torch.Tensor:
    """The logits behind each row, (size, padded_vocab_size), in the model's dtype.

    Args:
        model: with our attention set.
        kv_cache: the pool; the rows' keys and values are written.
        backend: on CUDA one that reads nothing from the host when every sequence decodes.
        inputs: the rows.
    """
    block_size = kv_cache.block_size
    block = (inputs.positions // block_size).unsqueeze(1)
    block_ids = inputs.block_tables.gather(1, block)[:, 0].long()
    seq_lens = (inputs.positions + 1).to(torch.int32)
    size, on_host = len(seq_lens), seq_lens.device.type == "cpu"
    context = AttentionContext(
        kv_cache=kv_cache,
        backend=backend,
        query_start=inputs.query_start,
        # A backend for CUDA does not look at the host's arrays when every sequence decodes.
        seq_lens=seq_lens.numpy() if on_host else np.ones(size, np.int32),
        block_tables=inputs.block_tables.numpy() if on_host else np.ones((size, 1), np.int32),
        slot_mapping=block_ids * block_size + inputs.positions % block_size,
        device_block_tables=inputs.block_tables,
        device_seq_lens=seq_lens,
    )
    return run_flat_batch(model, context, inputs.token_ids, inputs.positions, inputs.logits_rows)
