"""prove_model: the weights in their form on the device, and the load guard's test of them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch

from engine.attention.cpu_backend import CpuAttention
from engine.batch_invariance import MAX_PROBE_SEQS, find_row_multiple
from engine.kv_cache import KVCache, cache_dtype
from engine.load_guard import check_architecture, check_numbers, eager_logits, measure_layers
from engine.model_runner import ModelRunner
from engine.packed_linear import can_pack, pack_linear_layers
from engine.quantization import quantize_linear_layers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from transformers import PreTrainedModel

    from engine.attention.context import AttentionBackend
    from engine.config import EngineConfig
    from engine.kv_cache import LayerShape
    from engine.step_batch import TokenSpan

Progress: TypeAlias = "Callable[[str], None]"
"""Told what is being done now, a noun phrase: "weights", "self-test", ..."""


@dataclass(frozen=True, slots=True)
class ProvenModel:
    """A model that has passed the load guard, and what that found out.

    Args:
        model: on its device, with our attention set, its linear layers packed or quantised.
        dtype: of its weights before that.
        num_parameters: before that, tied ones counted once.
        expected: logits of the probe by transformers' own attention.
        shapes: of the layers.
        backend: of our attention.
        row_multiple: see `batch_invariance`.
    """

    model: PreTrainedModel
    dtype: torch.dtype
    num_parameters: int
    expected: torch.Tensor
    shapes: tuple[LayerShape, ...]
    backend: AttentionBackend
    row_multiple: int | None

    @property
    def padded_vocab_size(self) -> int:
        """Columns of the logits."""
        return self.expected.shape[1]


def prove_model(
    model: PreTrainedModel, config: EngineConfig, device: torch.device, progress: Progress
) -> ProvenModel:
    """Bring the weights into their form on the device, and test the model there.

    Args:
        model: in eval mode; changed in place.
        config: what becomes of its linear layers.
        device: where it shall be.
        progress: told about each stage.

    Raises:
        ModelRefusedError: it fails.
        InvalidConfigError: it cannot be quantised.
    """
    dtype, num_parameters = model.dtype, model.num_parameters()
    check_architecture(model)
    if config.quantization != "none":
        progress(f"weights in {config.quantization}")
        quantize_linear_layers(model, config.quantization, device)
    model.to(device)  # type: ignore[arg-type]  # transformers wraps it without its types
    progress("self-test")
    expected = eager_logits(model)
    # A packed head stands beside the embeddings that it is tied to: memory is what is asked for.
    is_quantized = config.quantization != "none"
    if config.pack_linear_weights and not is_quantized and can_pack(device, dtype):
        pack_linear_layers(model)
    shapes = measure_layers(model)
    backend = _attention_backend(device)
    check_numbers(model, shapes, backend, expected=expected, dtype=cache_dtype(device, dtype))
    return ProvenModel(
        model,
        dtype,
        num_parameters,
        expected,
        shapes,
        backend,
        row_multiple=_find_row_multiple(model, shapes, backend),
    )


def _attention_backend(device: torch.device) -> AttentionBackend:
    if device.type == "cpu":
        return CpuAttention(torch.get_num_threads())
    # Triton comes with torch's builds for CUDA alone.
    from engine.attention.cuda_backend import CudaAttention

    return CudaAttention()


def _find_row_multiple(
    model: PreTrainedModel, shapes: Sequence[LayerShape], backend: AttentionBackend
) -> int | None:
    """See `batch_invariance`; on CUDA it is neither promised nor tried."""
    if model.device.type != "cpu":
        return None
    kv_cache = KVCache(
        shapes,
        num_blocks=MAX_PROBE_SEQS,
        block_size=1,
        dtype=cache_dtype(model.device, model.dtype),
        device=model.device,
    )

    def run(spans: Sequence[TokenSpan], row_multiple: int) -> torch.Tensor:
        return ModelRunner(model, kv_cache, backend, row_multiple=row_multiple).run(spans)

    return find_row_multiple(run)
