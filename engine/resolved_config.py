"""ResolvedConfig: what the machine gives of what `EngineConfig` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from engine.errors import InvalidConfigError
from engine.free_memory import free_memory

if TYPE_CHECKING:
    from engine.config import EngineConfig

CPU_KV_CACHE_BYTES = 2 * 1024**3
"""KV pool on the CPU when nothing is asked for; memory is taken only as blocks are used."""

CPU_KV_CACHE_SHARE = 0.5
"""Of what is free on the CPU, where that is less: containers may be small on large machines."""

CUDA_KV_CACHE_SHARE = 0.85
"""Share of the device memory that is free after loading, when nothing is asked for."""

CPU_NUM_SEQS, CPU_NUM_BATCHED_TOKENS = 32, 512
CUDA_NUM_SEQS, CUDA_NUM_BATCHED_TOKENS = 128, 2048
"""Sequences and tokens of a step when nothing is asked for: a device that computes hundreds of rows
in the time of one is given them."""

CPU_MASK_POOL_BYTES = 16 * 1024**2
CUDA_MASK_POOL_BYTES = 64 * 1024**2
"""Rows of masks when nothing is asked for: of SmolLM2's 49,152 tokens 2,700 and 10,900, of Qwen's
151,936 tokens 880 and 3,500."""

_DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """The options with every "auto" and None decided for one model on one device.

    Args:
        num_blocks: usable blocks of the KV pool (the null block not counted).
        max_model_len: tokens of prompt and output together; that many always fit the pool.
    """

    dtype: torch.dtype
    device: torch.device
    block_size: int
    num_blocks: int
    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    max_logprobs: int
    max_listed_tokens: int
    prefix_cache: bool
    forced_text: bool
    max_draft_tokens: int
    cuda_graphs: bool
    max_burst_steps: int
    mask_pool_bytes: int
    automata_bytes: int

    @property
    def max_num_masks(self) -> int:
        """Places that one step can sample, each with a mask of its own."""
        return min(self.max_num_seqs * (1 + self.max_draft_tokens), self.max_num_batched_tokens)


def resolve_device(config: EngineConfig) -> torch.device:
    """The device that the configuration means on this machine.

    Raises:
        InvalidConfigError: the device does not exist here, or is of a kind that is not supported.
    """
    if config.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(config.device)
    except RuntimeError as error:
        raise InvalidConfigError("device", config.device, "not a device name") from error
    if device.type not in ("cpu", "cuda"):
        raise InvalidConfigError("device", config.device, "only cpu and cuda are supported")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InvalidConfigError("device", config.device, "this machine has no such CUDA device")
    return device


def resolve_dtype(config: EngineConfig, device: torch.device) -> torch.dtype:
    """The dtype of weights and activations on `device`."""
    if config.dtype != "auto":
        return _DTYPES[config.dtype]
    if device.type == "cuda":
        computes_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # Private, but the only place where torch tells it; without the instructions bf16 is
        # emulated, up to 10 times slower than float32.
        computes_bf16 = bool(torch.cpu._is_avx512_bf16_supported())  # noqa: SLF001
    return torch.bfloat16 if computes_bf16 else torch.float32


def resolve_config(
    config: EngineConfig,
    *,
    device: torch.device,
    dtype: torch.dtype,
    kv_bytes_per_token: int,
    model_context_len: int,
) -> ResolvedConfig:
    """Decide the size of the KV pool and the context length.

    Args:
        config: as asked.
        device: of the model.
        dtype: of the model.
        kv_bytes_per_token: keys and values of one token in all layers.
        model_context_len: the longest sequence that the model itself supports.

    Raises:
        InvalidConfigError: `max_model_len` is more than the model or the KV pool allows.
    """
    max_num_seqs, max_num_batched_tokens = _step_size(config, device)
    wanted = config.max_model_len or model_context_len
    blocks_per_seq = -(-wanted // config.block_size)
    num_blocks = _num_blocks(
        config,
        device,
        block_bytes=kv_bytes_per_token * config.block_size,
        most_used=max_num_seqs * blocks_per_seq,
    )
    capacity = num_blocks * config.block_size
    _check_len(config.max_model_len, model_context_len, capacity)
    return ResolvedConfig(
        dtype=dtype,
        device=device,
        block_size=config.block_size,
        num_blocks=num_blocks,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_batched_tokens,
        max_model_len=min(wanted, capacity),
        max_logprobs=config.max_logprobs,
        max_listed_tokens=config.max_listed_tokens,
        prefix_cache=config.prefix_cache,
        forced_text=config.forced_text,
        max_draft_tokens=config.max_draft_tokens,
        cuda_graphs=config.cuda_graphs,
        max_burst_steps=config.max_burst_steps,
        mask_pool_bytes=config.mask_pool_bytes
        or (CPU_MASK_POOL_BYTES if device.type == "cpu" else CUDA_MASK_POOL_BYTES),
        automata_bytes=config.automata_bytes,
    )


def _step_size(config: EngineConfig, device: torch.device) -> tuple[int, int]:
    """Sequences and tokens of a step; what is not asked for never contradicts what is."""
    num_seqs, num_tokens = CPU_NUM_SEQS, CPU_NUM_BATCHED_TOKENS
    if device.type == "cuda":
        num_seqs, num_tokens = CUDA_NUM_SEQS, CUDA_NUM_BATCHED_TOKENS
    num_seqs = config.max_num_seqs or min(num_seqs, config.max_num_batched_tokens or num_seqs)
    return num_seqs, config.max_num_batched_tokens or max(num_tokens, num_seqs)


def _check_len(max_model_len: int | None, model_context_len: int, capacity: int) -> None:
    """Refuse a length that is asked for, and that the model or the KV pool does not allow."""
    if max_model_len is None:
        return
    if max_model_len > model_context_len:
        raise InvalidConfigError(
            "max_model_len", max_model_len, f"the model supports at most {model_context_len} tokens"
        )
    if max_model_len > capacity:
        raise InvalidConfigError(
            "max_model_len",
            max_model_len,
            f"the KV pool holds only {capacity} tokens; lower it or give the pool more memory",
        )


def _num_blocks(
    config: EngineConfig, device: torch.device, *, block_bytes: int, most_used: int
) -> int:
    """Blocks of the KV pool: what was asked for, else no more than could ever be in use."""
    if config.num_blocks is not None:
        return config.num_blocks
    num_blocks = _kv_cache_bytes(config, device) // block_bytes
    if num_blocks < 1:
        raise InvalidConfigError(
            "kv_cache_bytes", config.kv_cache_bytes, f"one block alone takes {block_bytes} bytes"
        )
    return min(num_blocks, most_used)


def _kv_cache_bytes(config: EngineConfig, device: torch.device) -> int:
    if config.kv_cache_bytes is not None:
        return config.kv_cache_bytes
    if device.type == "cpu":
        free_bytes = free_memory()
        if free_bytes is None:
            return CPU_KV_CACHE_BYTES
        return min(CPU_KV_CACHE_BYTES, int(free_bytes * CPU_KV_CACHE_SHARE))
    free_bytes, _ = torch.cuda.mem_get_info(device)
    return int(free_bytes * CUDA_KV_CACHE_SHARE)
