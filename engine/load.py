"""load_engine: from a model folder on disk to an engine that may be stepped."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import torch

from engine.attention.cpu_backend import CpuAttention
from engine.batch_invariance import MAX_PROBE_SEQS, find_row_multiple
from engine.device.current_device import current_device
from engine.engine import Engine
from engine.graph_loader import GraphLoader
from engine.kv_cache import KVCache, bytes_per_token, cache_dtype
from engine.load_guard import check_architecture, check_numbers, eager_logits, measure_layers
from engine.model_folder import context_len, eos_token_ids, load_model
from engine.model_info import ModelInfo
from engine.model_runner import ModelRunner
from engine.packed_linear import can_pack, pack_linear_layers
from engine.quantization import check_quantization, num_weight_bytes, quantize_linear_layers
from engine.resolved_config import resolve_config, resolve_device, resolve_dtype
from engine.warm_up import warm_up_decoding, warm_up_sampler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from transformers import PreTrainedModel

    from engine.attention.context import AttentionBackend
    from engine.config import EngineConfig
    from engine.kv_cache import LayerShape
    from engine.step_batch import TokenSpan

logger = logging.getLogger(__name__)

Progress: TypeAlias = "Callable[[str], None]"
"""Told what is being done now, a noun phrase: "weights", "self-test", ..."""


def load_engine(
    model_folder: Path, config: EngineConfig, progress: Progress | None = None
) -> Engine:
    """Load a model from a local folder and prove that we run it right.

    Args:
        model_folder: an ordinary Hugging Face folder: config.json and safetensors.
        config: the options.
        progress: told about each stage.

    Raises:
        ModelRefusedError: the folder holds no such model, or the load guard refuses it.
        InvalidConfigError: an option cannot be honoured for this model on this machine.
    """
    progress = progress or _log_stage
    device = resolve_device(config)
    dtype = resolve_dtype(config, device)
    check_quantization(config.quantization, device)
    progress("weights")
    model = load_model(model_folder, dtype=dtype)
    return build_engine(model, config, name=model_folder.name, device=device, progress=progress)


def build_engine(
    model: PreTrainedModel,
    config: EngineConfig,
    *,
    name: str,
    device: torch.device | None = None,
    progress: Progress | None = None,
) -> Engine:
    """An engine around a loaded model, which it owns and changes from now on.

    Args:
        model: in eval mode, in its dtype.
        config: the options; device and dtype are not read from it.
        name: for `ModelInfo`.
        device: where the model is moved; None: it stays where it is.
        progress: told about each stage.

    Raises:
        ModelRefusedError: the load guard refuses the model.
        InvalidConfigError: an option cannot be honoured for this model on this machine.
    """
    with current_device(device or model.device):
        return _build_engine(
            model, config, name=name, device=device or model.device, progress=progress or _log_stage
        )


def _build_engine(
    model: PreTrainedModel,
    config: EngineConfig,
    *,
    name: str,
    device: torch.device,
    progress: Progress,
) -> Engine:
    dtype, num_parameters = model.dtype, model.num_parameters()
    proven = _prove(model, config, device, progress)
    padded_vocab_size = proven.expected.shape[1]
    warm_up_sampler(padded_vocab_size, device)
    progress("KV pool")
    kv_dtype = cache_dtype(device, dtype)
    resolved = resolve_config(
        config,
        device=device,
        dtype=dtype,
        kv_bytes_per_token=bytes_per_token(proven.shapes, kv_dtype),
        model_context_len=context_len(model),
    )
    kv_cache = KVCache(
        proven.shapes,
        num_blocks=resolved.num_blocks,
        block_size=resolved.block_size,
        dtype=kv_dtype,
        device=device,
    )
    info = ModelInfo(
        name=name,
        architecture=type(model).__name__,
        num_parameters=num_parameters,
        dtype=str(dtype).removeprefix("torch."),
        quantization=config.quantization,
        num_weight_bytes=num_weight_bytes(model),
        device=str(device),
        padded_vocab_size=padded_vocab_size,
        eos_token_ids=eos_token_ids(model, padded_vocab_size),
        context_len=context_len(model),
        is_batch_invariant=proven.row_multiple is not None,
    )
    logger.info("engine: %s, %s, rows padded to %s", info, resolved, proven.row_multiple)
    row_multiple = proven.row_multiple or 1
    runner = ModelRunner(model, kv_cache, proven.backend, row_multiple=row_multiple)
    if device.type == "cuda":
        warm_up_decoding(
            runner, block_size=resolved.block_size, max_model_len=resolved.max_model_len
        )
        progress("CUDA graphs")
    loader = GraphLoader(model, kv_cache, proven.backend, resolved, padded_vocab_size)
    return Engine(
        loader.runner_with_graphs(runner, proven.expected),
        resolved,
        info,
        graphs=loader.decode_graphs(row_multiple),
    )


@dataclass(frozen=True, slots=True)
class _Proof:
    """What the load guard has found about a model that passed it.

    Args:
        expected: logits of the probe by transformers' own attention.
        shapes: of the layers.
        backend: of our attention.
        row_multiple: see `batch_invariance`.
    """

    expected: torch.Tensor
    shapes: tuple[LayerShape, ...]
    backend: AttentionBackend
    row_multiple: int | None


def _prove(
    model: PreTrainedModel, config: EngineConfig, device: torch.device, progress: Progress
) -> _Proof:
    """Bring the weights into their form on the device, and test the model there.

    Raises:
        ModelRefusedError: it fails.
    """
    dtype = model.dtype
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
    return _Proof(expected, shapes, backend, _find_row_multiple(model, shapes, backend))


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


def _log_stage(stage: str) -> None:
    logger.info("loading: %s", stage)
