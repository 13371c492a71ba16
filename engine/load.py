"""load_engine: from a model folder on disk to an engine that may be stepped."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from engine.device.current_device import current_device
from engine.engine import Engine
from engine.graph_loader import GraphLoader
from engine.kv_cache import KVCache, bytes_per_token, cache_dtype
from engine.model_folder import context_len, eos_token_ids, load_model
from engine.model_info import ModelInfo
from engine.model_runner import ModelRunner
from engine.proven_model import prove_model
from engine.quantization import check_quantization, num_weight_bytes
from engine.resolved_config import resolve_config, resolve_device, resolve_dtype
from engine.warm_up import warm_up_decoding, warm_up_sampler

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from transformers import PreTrainedModel

    from engine.config import EngineConfig
    from engine.proven_model import Progress, ProvenModel

logger = logging.getLogger(__name__)


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
    proven = prove_model(model, config, device, progress)
    warm_up_sampler(proven.padded_vocab_size, device)
    progress("KV pool")
    kv_dtype = cache_dtype(device, proven.dtype)
    resolved = resolve_config(
        config,
        device=device,
        dtype=proven.dtype,
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
    info = _model_info(proven, config, name)
    logger.info("engine: %s, %s, rows padded to %s", info, resolved, proven.row_multiple)
    row_multiple = proven.row_multiple or 1
    runner = ModelRunner(model, kv_cache, proven.backend, row_multiple=row_multiple)
    if device.type == "cuda":
        warm_up_decoding(
            runner, block_size=resolved.block_size, max_model_len=resolved.max_model_len
        )
        progress("CUDA graphs")
    loader = GraphLoader(model, kv_cache, proven.backend, resolved, proven.padded_vocab_size)
    return Engine(
        loader.runner_with_graphs(runner, proven.expected),
        resolved,
        info,
        graphs=loader.decode_graphs(row_multiple),
    )


def _model_info(proven: ProvenModel, config: EngineConfig, name: str) -> ModelInfo:
    model = proven.model
    return ModelInfo(
        name=name,
        architecture=type(model).__name__,
        num_parameters=proven.num_parameters,
        dtype=str(proven.dtype).removeprefix("torch."),
        quantization=config.quantization,
        num_weight_bytes=num_weight_bytes(model),
        device=str(model.device),
        padded_vocab_size=proven.padded_vocab_size,
        eos_token_ids=eos_token_ids(model, proven.padded_vocab_size),
        context_len=context_len(model),
        is_batch_invariant=proven.row_multiple is not None,
    )


def _log_stage(stage: str) -> None:
    logger.info("loading: %s", stage)
