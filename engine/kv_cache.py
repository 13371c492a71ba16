"""KVCache: the paged pool of keys and values, one pair of tensors a layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class LayerShape:
    """What one attention layer stores for a token; measured, not read from the config."""

    num_kv_heads: int
    key_size: int
    value_size: int


@dataclass(frozen=True, slots=True)
class LayerCache:
    """The blocks of one layer.

    Args:
        key: (num_blocks, block_size, num_kv_heads, key_size), contiguous.
        value: (num_blocks, block_size, num_kv_heads, value_size), contiguous.
    """

    key: torch.Tensor
    value: torch.Tensor


def cache_dtype(device: torch.device, model_dtype: torch.dtype) -> torch.dtype:
    """The dtype of keys and values: the CPU kernel computes in float32 and converts nothing."""
    return torch.float32 if device.type == "cpu" else model_dtype


def bytes_per_token(shapes: Sequence[LayerShape], dtype: torch.dtype) -> int:
    """Bytes of one token's keys and values in all layers."""
    sizes = (shape.num_kv_heads * (shape.key_size + shape.value_size) for shape in shapes)
    return sum(sizes) * dtype.itemsize


class KVCache:
    """Keys and values of all live sequences.

    Slot `block_id * block_size + offset` of a layer holds one token. Block 0 is the null block
    (`block_pool.NULL_BLOCK`), so the tensors have one block more than can be allocated.

    Args:
        shapes: one entry a layer, by `layer_idx`.
        num_blocks: usable blocks.
        block_size: tokens in a block.
    """

    def __init__(
        self,
        shapes: Sequence[LayerShape],
        *,
        num_blocks: int,
        block_size: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:

        def _zeros(shape: tuple[int, ...]) -> torch.Tensor:
            if device.type == "cpu" and dtype is torch.float32:
                # calloc'd: the system zeroes a page when it is first touched, not all of them now.
                return torch.from_numpy(np.zeros(shape, np.float32))
            return torch.zeros(shape, dtype=dtype, device=device)

        self.block_size = block_size
        self.layers = tuple(
            LayerCache(
                key=_zeros((num_blocks + 1, block_size, shape.num_kv_heads, shape.key_size)),
                value=_zeros((num_blocks + 1, block_size, shape.num_kv_heads, shape.value_size)),
            )
            for shape in shapes
        )

    def copy_block(self, source: int, target: int) -> None:
        """Copy all keys and values of one block into another, in every layer."""
        for layer in self.layers:
            for pool in (layer.key, layer.value):
                pool[target] = pool[source]
