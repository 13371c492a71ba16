"""Paged attention on CUDA: the Triton decode kernel, and torch's own attention for prefill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from engine.attention.decode_kernel import attend_slices, join_slices
from engine.attention.flash_prefill import FlashPrefill, find_varlen_attention
from engine.attention.torch_backend import attend_prefills, store_tokens
from engine.transfer import to_device

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
_ENOUGH_PROGRAMS: Final = 2048
"""They fill every device; slices beyond that only write and read partial sums."""

_STAGE_BYTES: Final = 64 * 1024
"""Of shared memory for tiles on their way, which the smallest devices have (CUDA C++ Programming
Guide, table "Technical Specifications per Compute Capability")."""


@dataclass(frozen=True, slots=True)
class _Decodes:
    """The sequences of a step with one new token, where others have more: as all layers need it.

    Made once a step: what comes from the host makes it wait for the device.
    """

    rows: torch.Tensor
    block_tables: torch.Tensor
    seq_lens: torch.Tensor

    @classmethod
    def from_context(cls, context: AttentionContext) -> _Decodes | None:
        """None where nothing decodes."""
        (indices,) = (context.query_lens == 1).nonzero()
        if not len(indices):
            return None
        device = context.slot_mapping.device
        sequences = to_device(indices, device)
        return cls(
            to_device(context.query_start[indices], device, torch.int64),
            context.device_block_tables.index_select(0, sequences),
            context.device_seq_lens.index_select(0, sequences),
        )


class CudaAttention:
    """`AttentionBackend`: `triton_attention`, with flash attention where that is proven."""

    def __init__(self) -> None:
        attend = find_varlen_attention()
        self._flash = None if attend is None else FlashPrefill(attend)
        self._last: tuple[AttentionContext, _Decodes | None] | None = None

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
        return triton_attention(
            query, key, value, layer_idx, context, options,
            find_decodes=self._find_decodes, prefill=prefill,
        )  # fmt: skip

    def _find_decodes(self, context: AttentionContext) -> _Decodes | None:
        """Those of the step, found in its first layer."""
        if self._last is None or self._last[0] is not context:
            self._last = (context, _Decodes.from_context(context))
        return self._last[1]


def triton_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    layer_idx: int,
    context: AttentionContext,
    options: AttentionOptions,
    *,
    find_decodes: Callable[[AttentionContext], _Decodes | None] = _Decodes.from_context,
    prefill: Prefill = attend_prefills,
) -> torch.Tensor:
    """`AttentionBackend`: all decodes by one launch of the kernels, prefills by `prefill`.

    A step that only decodes reads nothing from the host, so a CUDA graph can hold it.
    """
    layer = context.kv_cache.layers[layer_idx]
    store_tokens(key, value, layer, context.slot_mapping)
    if len(query) == context.num_seqs and (context.query_lens == 1).all():
        return _decode(query, layer, context.device_block_tables, context.device_seq_lens, options)
    output = query.new_zeros((*query.shape[:2], layer.value.shape[-1]))
    decodes = find_decodes(context)
    if decodes is not None:
        output[decodes.rows] = _decode(
            query[decodes.rows], layer, decodes.block_tables, decodes.seq_lens, options
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
    num_slices = _num_slices(longest, num_seqs * num_kv_heads)
    partial = torch.empty(
        (num_seqs, num_heads, num_slices, value_size), dtype=torch.float32, device=query.device
    )
    maxima = partial.new_empty(partial.shape[:3])
    sums = torch.empty_like(maxima)
    output = query.new_empty((num_seqs, num_heads, value_size))
    key_columns, value_columns = _columns(key_size), _columns(value_size)
    tile_bytes = _TILE * (key_columns + value_columns) * layer.key.element_size()
    attend_slices[(num_seqs, num_kv_heads, num_slices)](
        query, layer.key, layer.value, block_tables, seq_lens, partial, maxima, sums,
        options.scaling, options.softcap or 1.0,
        query.stride(0), query.stride(1), layer.key.stride(1), layer.value.stride(1),
        block_tables.stride(0),
        SLIDING_WINDOW=options.sliding_window or 0, HAS_SOFTCAP=options.softcap is not None,
        NUM_HEADS=num_heads, NUM_KV_HEADS=num_kv_heads,
        GROUP_ROWS=_columns(num_heads // num_kv_heads),
        KEY_SIZE=key_size, KEY_COLUMNS=key_columns,
        VALUE_SIZE=value_size, VALUE_COLUMNS=value_columns,
        BLOCK_SIZE=block_size, TILE=_TILE, NUM_SLICES=num_slices,
        num_stages=max(1, min(3, _STAGE_BYTES // tile_bytes)),
    )  # fmt: skip
    join_slices[(num_seqs, num_heads)](
        partial, maxima, sums, sums if options.sinks is None else options.sinks, output,
        HAS_SINKS=options.sinks is not None, NUM_HEADS=num_heads,
        VALUE_SIZE=value_size, VALUE_COLUMNS=value_columns,
        NUM_SLICES=num_slices,
    )  # fmt: skip
    return output


def _num_slices(longest: int, num_programs: int) -> int:
    """How many slices the keys are cut into: a power of two, since each is a kernel of its own.

    Args:
        longest: keys that a sequence may attend to.
        num_programs: of one slice.
    """
    wanted = min(_MAX_SLICES, longest // _TOKENS_PER_SLICE, _ENOUGH_PROGRAMS // num_programs)
    return 1 << (max(1, wanted).bit_length() - 1)


def _columns(size: int) -> int:
    """A power of two that tensor cores take."""
    return int(max(16, 1 << (size - 1).bit_length()))
