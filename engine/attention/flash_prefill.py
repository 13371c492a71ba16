"""FlashPrefill: all prefills of a step by one call of torch's flash attention for packed texts."""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import torch
from torch.nn import functional

from engine.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.attention.context import AttentionContext, AttentionOptions
    from engine.kv_cache import LayerCache

logger = logging.getLogger(__name__)

_PROBE_LENS: Final = ((5, 5), (3, 20), (1, 9))
"""New tokens and all tokens of the sequences that both ways attend before one is trusted."""

_PROBE_WINDOW: Final = 7
_TOLERANCE: Final = 3e-2
"""Of results of size 1 in half precision; what sees other tokens is off by as much as they are."""


class VarlenAttention(Protocol):
    """`torch.nn.attention.varlen.varlen_attn`, as far as it is used."""

    def __call__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        cu_seq_q: torch.Tensor,
        cu_seq_k: torch.Tensor,
        max_q: int,
        max_k: int,
        *,
        scale: float,
        window_size: tuple[int, int],
        enable_gqa: bool,
    ) -> torch.Tensor:
        """Attend packed sequences, the last query of each beside its last key."""
        ...


def find_varlen_attention() -> VarlenAttention | None:
    """Torch's function; None where this torch has none with windows and grouped heads."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    has_all = {"scale", "window_size", "enable_gqa"} <= inspect.signature(
        varlen_attn
    ).parameters.keys()
    return varlen_attn if has_all else None  # type: ignore[return-value]  # a pair if asked for


@dataclass(frozen=True, slots=True)
class _Packing:
    """Where the prefills of a step are: the same for all layers."""

    rows: torch.Tensor
    slots: torch.Tensor
    query_start: torch.Tensor
    key_start: torch.Tensor
    longest_query: int
    longest_key: int

    @classmethod
    def from_context(cls, context: AttentionContext) -> _Packing | None:
        """None where nothing prefills."""
        starts, ends = context.query_start[:-1], context.query_start[1:]
        (indices,) = (context.query_lens > 1).nonzero()
        if not len(indices):
            return None
        block_size, device = context.kv_cache.block_size, context.slot_mapping.device
        rows = [np.arange(starts[index], ends[index]) for index in indices]
        slots = []
        for index in indices:
            position = np.arange(context.seq_lens[index])
            block_ids = context.block_tables[index, position // block_size].astype(np.int64)
            slots.append(block_ids * block_size + position % block_size)
        return cls(
            to_device(np.concatenate(rows), device, torch.int64),
            to_device(np.concatenate(slots), device),
            _starts([len(part) for part in rows], device),
            _starts([len(part) for part in slots], device),
            max(map(len, rows)),
            max(map(len, slots)),
        )


class FlashPrefill:
    """Attends what it can: half precision, no softcap, no sinks, values as large as keys.

    Whether torch's function does it right on this device is found out by trying, once for each kind
    of layer.

    Args:
        attend: torch's function.
    """

    def __init__(self, attend: VarlenAttention) -> None:
        self._attend = attend
        self._verdicts: dict[tuple[object, ...], bool] = {}
        self._packed: tuple[AttentionContext, _Packing | None] | None = None

    def can_attend(self, query: torch.Tensor, layer: LayerCache, options: AttentionOptions) -> bool:
        """Whether `__call__` may be used for a layer."""
        if (
            query.dtype not in (torch.float16, torch.bfloat16)
            or layer.key.dtype != query.dtype
            or layer.key.shape[-1] != layer.value.shape[-1]
            or options.softcap is not None
            or options.sinks is not None
        ):
            return False
        window = None if options.sliding_window is None else _PROBE_WINDOW
        kind = (query.dtype, query.shape[1], *layer.key.shape[-2:], window)
        if kind not in self._verdicts:
            self._verdicts[kind] = self._is_right(query, layer.key.shape[-2], window)
            logger.info("flash attention for %s: %s", kind, self._verdicts[kind])
        return self._verdicts[kind]

    def __call__(
        self,
        query: torch.Tensor,
        layer: LayerCache,
        context: AttentionContext,
        options: AttentionOptions,
        output: torch.Tensor,
    ) -> None:
        """The same as `torch_backend.attend_prefills`."""
        if self._packed is None or self._packed[0] is not context:
            self._packed = (context, _Packing.from_context(context))
        packing = self._packed[1]
        if packing is not None:
            output[packing.rows] = self._attend(
                query[packing.rows],
                layer.key.flatten(0, 1)[packing.slots],
                layer.value.flatten(0, 1)[packing.slots],
                packing.query_start,
                packing.key_start,
                packing.longest_query,
                packing.longest_key,
                scale=options.scaling,
                window_size=_window(options.sliding_window),
                enable_gqa=query.shape[1] != layer.key.shape[-2],
            )

    def _is_right(self, query: torch.Tensor, num_kv_heads: int, window: int | None) -> bool:
        """Compare with plain attention on random tensors of the layer's shape."""
        generator = torch.Generator().manual_seed(0)
        num_heads, size = query.shape[1:]

        def random(length: int, heads: int) -> torch.Tensor:
            return torch.randn((length, heads, size), generator=generator).to(query)

        query_lens, key_lens = zip(*_PROBE_LENS, strict=True)
        queries = random(sum(query_lens), num_heads)
        keys, values = (random(sum(key_lens), num_kv_heads) for _ in range(2))
        arguments = (
            queries, keys, values, _starts(query_lens, query.device),
            _starts(key_lens, query.device), max(query_lens), max(key_lens),
        )  # fmt: skip
        options = {
            "scale": size**-0.5,
            "window_size": _window(window),
            "enable_gqa": num_heads != num_kv_heads,
        }
        expected = varlen_reference(*arguments, **options)
        try:
            attended = self._attend(*arguments, **options)
        except Exception as error:  # noqa: BLE001  # whatever torch raises for what it cannot do
            logger.info("flash attention fails: %s", error)
            return False
        return bool((attended.float() - expected.float()).abs().max() <= _TOLERANCE)


def varlen_reference(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    cu_seq_q: torch.Tensor,
    cu_seq_k: torch.Tensor,
    max_q: int,  # noqa: ARG001  # the protocol's
    max_k: int,  # noqa: ARG001  # the protocol's
    *,
    scale: float,
    window_size: tuple[int, int],
    enable_gqa: bool,
) -> torch.Tensor:
    """`VarlenAttention` in plain torch, one sequence after the other."""
    parts = []
    starts_q, starts_k = cu_seq_q.tolist(), cu_seq_k.tolist()
    for index in range(len(starts_q) - 1):
        own_q = slice(starts_q[index], starts_q[index + 1])
        own_k = slice(starts_k[index], starts_k[index + 1])
        num_q, num_k = own_q.stop - own_q.start, own_k.stop - own_k.start
        last = torch.arange(num_k - num_q, num_k, device=query.device)[:, None]
        position = torch.arange(num_k, device=query.device)
        visible = position <= last
        if window_size[0] >= 0:
            visible &= position >= last - window_size[0]
        parts.append(
            functional.scaled_dot_product_attention(
                query[own_q].transpose(0, 1),
                key[own_k].transpose(0, 1),
                value[own_k].transpose(0, 1),
                attn_mask=visible,
                scale=scale,
                enable_gqa=enable_gqa,
            ).transpose(0, 1)
        )
    return torch.cat(parts)


def _window(sliding_window: int | None) -> tuple[int, int]:
    """Tokens to the left and to the right that a token sees beside itself; -1: all."""
    return (-1 if sliding_window is None else sliding_window - 1, 0)


def _starts(lengths: Sequence[int], device: torch.device) -> torch.Tensor:
    return to_device([0, *np.cumsum(lengths).tolist()], device, torch.int32)
