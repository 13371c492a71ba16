"""Paged attention on CUDA: the Triton decode kernel, and torch's own attention for prefill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from engine.attention.decode_kernel import attend_slices, join_slices
from engine.attention.flash_prefill import FlashPrefill, find_varlen_attention
from engine.attention.torch_backend import attend_prefills, store_tokens

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from engine.attention.context import AttentionContext, AttentionOptions
    from engine.kv_cache import LayerCache

    Prefill: TypeAlias = Callable[
        [torch.Tensor, LayerCache, AttentionContext, AttentionOptions, torch.Tensor], None
    ]

_TILE: Final = 32
"""Keys of one matrix product."""

_TOKENS_PER_SLICE: Final = 256
_MAX_SLICES: Final = 16


class CudaAttention:
    """`AttentionBackend`: `triton_attention`, with flash attention where that is proven."""

    def __init__(self) -> None:
        attend = find_varlen_attention()
        self._flash = None if attend is None else FlashPrefill(attend)

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
        prefill: Prefill = attend_prefills
        if self._flash is not None and self._flash.can_attend(query, layer, options):
            prefill = self._flash
        return triton_attention(query, key, value, layer_idx, context, options, prefill=prefill)


def triton_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    layer_idx: int,
    context: AttentionContext,
    options: AttentionOptions,
    *,
    prefill: Prefill = attend_prefills,
) -> torch.Tensor:
    """`AttentionBackend`: all decodes by one launch of the kernels, prefills by `prefill`.

    A step that only decodes reads nothing from the host, so a CUDA graph can hold it.
    """
    layer = context.kv_cache.layers[layer_idx]
    store_tokens(key, value, layer, context.slot_mapping)
    query_lens = context.query_start[1:] - context.query_start[:-1]
    if len(query) == context.num_seqs and (query_lens == 1).all():
        return _decode(query, layer, context.device_block_tables, context.device_seq_lens, options)
    output = query.new_zeros((*query.shape[:2], layer.value.shape[-1]))
    decodes = (query_lens == 1).nonzero()[0]
    if len(decodes):
        rows = torch.from_numpy(context.query_start[decodes]).to(query.device).long()
        sequences = torch.from_numpy(decodes).to(query.device)
        output[rows] = _decode(
            query[rows],
            layer,
            context.device_block_tables[sequences],
            context.device_seq_lens[sequences],
            options,
        )
    prefill(query, layer, context, options, output)
    return output


def _decode(
    query: torch.Tensor,
    layer: LayerCache,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    options: AttentionOptions,
) -> torch.Tensor:
    """Attend one token of each sequence.

    Args:
        query: (n, num_heads, key_size).
        layer: of the pool.
        block_tables: int32, (n, max_blocks).
        seq_lens: int32, (n,), each at least 1.
        options: scaling, window, softcap and sinks.

    Returns:
        (n, num_heads, value_size), of the query's dtype.
    """
    num_seqs, num_heads, key_size = query.shape
    _, block_size, num_kv_heads, value_size = layer.value.shape
    query = query if query.stride(2) == 1 else query.contiguous()
    longest = block_tables.shape[1] * block_size
    if options.sliding_window is not None:
        longest = min(longest, options.sliding_window)
    num_slices = max(1, min(_MAX_SLICES, longest // _TOKENS_PER_SLICE))
    partial = torch.empty(
        (num_seqs, num_heads, num_slices, value_size), dtype=torch.float32, device=query.device
    )
    maxima = partial.new_empty(partial.shape[:3])
    sums = torch.empty_like(maxima)
    output = query.new_empty((num_seqs, num_heads, value_size))
    value_columns = _columns(value_size)
    attend_slices[(num_seqs, num_kv_heads, num_slices)](
        query, layer.key, layer.value, block_tables, seq_lens, partial, maxima, sums,
        options.scaling, options.softcap or 1.0,
        query.stride(0), query.stride(1), layer.key.stride(1), layer.value.stride(1),
        block_tables.stride(0),
        SLIDING_WINDOW=options.sliding_window or 0, HAS_SOFTCAP=options.softcap is not None,
        NUM_HEADS=num_heads, NUM_KV_HEADS=num_kv_heads,
        GROUP_ROWS=_columns(num_heads // num_kv_heads),
        KEY_SIZE=key_size, KEY_COLUMNS=_columns(key_size),
        VALUE_SIZE=value_size, VALUE_COLUMNS=value_columns,
        BLOCK_SIZE=block_size, TILE=_TILE, NUM_SLICES=num_slices,
    )  # fmt: skip
    join_slices[(num_seqs, num_heads)](
        partial, maxima, sums, sums if options.sinks is None else options.sinks, output,
        HAS_SINKS=options.sinks is not None, NUM_HEADS=num_heads,
        VALUE_SIZE=value_size, VALUE_COLUMNS=value_columns,
        NUM_SLICES=num_slices, SLICE_ROWS=1 << (num_slices - 1).bit_length(),
    )  # fmt: skip
    return output


def _columns(size: int) -> int:
    """A power of two that tensor cores take."""
    return int(max(16, 1 << (size - 1).bit_length()))
