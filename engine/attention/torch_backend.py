"""Paged attention in plain torch: the reference of every kernel, and prefill on CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from engine.transfer import to_device

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.attention.context import AttentionContext, AttentionOptions
    from engine.kv_cache import LayerCache


def torch_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    layer_idx: int,
    context: AttentionContext,
    options: AttentionOptions,
) -> torch.Tensor:
    """`AttentionBackend` over gathered blocks: one call for all decodes, one for each prefill."""
    layer = context.kv_cache.layers[layer_idx]
    store_tokens(key, value, layer, context.slot_mapping)
    output = query.new_zeros((*query.shape[:2], layer.value.shape[-1]))
    decodes = (context.query_lens == 1).nonzero()[0]
    if len(decodes):
        rows = to_device(context.query_start[decodes], query.device, torch.int64)
        attended = _attend(query[rows].unsqueeze(1), decodes, layer, context, options)
        output[rows] = attended.squeeze(1)
    attend_prefills(query, layer, context, options, output)
    return output


def store_tokens(
    key: torch.Tensor, value: torch.Tensor, layer: LayerCache, slot_mapping: torch.Tensor
) -> None:
    """Write the step's keys and values, (T, num_kv_heads, size), into their slots."""
    layer.key.flatten(0, 1).index_copy_(0, slot_mapping, key.to(layer.key.dtype))
    layer.value.flatten(0, 1).index_copy_(0, slot_mapping, value.to(layer.value.dtype))


def attend_prefills(
    query: torch.Tensor,
    layer: LayerCache,
    context: AttentionContext,
    options: AttentionOptions,
    output: torch.Tensor,
) -> None:
    """Attend the sequences with more than one new token, one after the other.

    Args:
        query: (T, num_heads, key_size).
        layer: with the step's keys and values.
        context: the step.
        options: scaling, window, softcap and sinks.
        output: (T, num_heads, value_size); the rows of those sequences are overwritten.
    """
    for index in (context.query_lens > 1).nonzero()[0].tolist():
        span = slice(int(context.query_start[index]), int(context.query_start[index + 1]))
        output[span] = _attend(
            query[span].unsqueeze(0), np.array([index]), layer, context, options
        )[0]


def _attend(
    query: torch.Tensor,
    indices: NDArray[np.int64],
    layer: LayerCache,
    context: AttentionContext,
    options: AttentionOptions,
) -> torch.Tensor:
    """Attention of sequences with equally many new tokens.

    Args:
        query: (len(indices), query_len, num_heads, key_size).
        indices: int64, which sequences of the batch these are.
        layer: the layer's blocks.
        context: the step.
        options: scaling, window, softcap and sinks.

    Returns:
        (len(indices), query_len, num_heads, value_size).
    """
    host_lens = context.seq_lens[indices]
    num_blocks = -(-int(host_lens.max()) // context.kv_cache.block_size)
    own = to_device(indices, query.device)
    blocks = context.device_block_tables[:, :num_blocks].index_select(0, own)
    keys = layer.key[blocks].flatten(1, 2).to(query.dtype)
    values = layer.value[blocks].flatten(1, 2).to(query.dtype)

    query_len = query.shape[1]
    seq_lens = context.device_seq_lens.index_select(0, own)
    last = seq_lens[:, None] - query_len + torch.arange(query_len, device=query.device)
    position = torch.arange(keys.shape[1], device=query.device)
    # Behind the last token lies what a block's former owner left; if that is NaN, a weight of 0
    # does not hide it.
    is_stale = (position >= seq_lens[:, None])[..., None, None]
    keys.masked_fill_(is_stale, 0)
    values.masked_fill_(is_stale, 0)
    visible = position <= last[..., None]
    if options.sliding_window is not None:
        visible &= position > last[..., None] - options.sliding_window
    query, keys, values = (tensor.transpose(1, 2) for tensor in (query, keys, values))
    if options.softcap is None and options.sinks is None:
        attended = functional.scaled_dot_product_attention(
            query,
            keys,
            values,
            attn_mask=visible[:, None],
            scale=options.scaling,
            enable_gqa=query.shape[1] != keys.shape[1],
        )
    else:
        attended = _attend_by_scores(query, keys, values, visible, options)
    return attended.transpose(1, 2)


def _attend_by_scores(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    visible: torch.Tensor,
    options: AttentionOptions,
) -> torch.Tensor:
    """Attention with a softcap or sinks, which torch's own function does not know.

    Args:
        query: (batch, num_heads, query_len, key_size).
        keys: (batch, num_kv_heads, key_len, key_size).
        values: (batch, num_kv_heads, key_len, value_size).
        visible: (batch, query_len, key_len).
        options: scaling, softcap and sinks.

    Returns:
        (batch, num_heads, query_len, value_size).
    """
    group_size = query.shape[1] // keys.shape[1]
    keys = keys.repeat_interleave(group_size, dim=1)
    values = values.repeat_interleave(group_size, dim=1)
    scores = query @ keys.transpose(2, 3) * options.scaling
    if options.softcap is not None:
        scores = options.softcap * torch.tanh(scores / options.softcap)
    scores = scores.masked_fill(~visible[:, None], -torch.inf)
    return _softmax(scores, options.sinks).to(query.dtype) @ values


def _softmax(scores: torch.Tensor, sinks: torch.Tensor | None) -> torch.Tensor:
    """Weights in float32, (batch, num_heads, query_len, key_len)."""
    if sinks is None:
        return torch.softmax(scores, dim=-1, dtype=torch.float32)
    sink = sinks.to(scores.dtype).view(1, -1, 1, 1).expand(*scores.shape[:3], 1)
    with_sink = torch.softmax(torch.cat((scores, sink), dim=-1), dim=-1, dtype=torch.float32)
    return with_sink[..., :-1]
