"""EngineConfig: what the operator asks of the engine; ResolvedConfig: what the machine gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import torch

from engine.errors import InvalidConfigError

CPU_KV_CACHE_BYTES = 2 * 1024**3
"""KV pool on the CPU when nothing is asked for; memory is taken only as blocks are used."""

CUDA_KV_CACHE_SHARE = 0.85
"""Share of the device memory that is free after loading, when nothing is asked for."""

_DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}

Quantization: TypeAlias = Literal["none", "int8", "int4"]
"""What the weights of linear layers are kept in; "none": the model's dtype."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The engine's options, checked on construction.

    Args:
        dtype: of weights and activations; auto is bfloat16 where the device computes in it, else
            float32.
        device: "auto" (CUDA where there is one, else CPU), "cpu", "cuda" or "cuda:<index>".
        quantization: bits of the linear layers' weights, the output head left out: int8 loses
            little; int4 needs bitsandbytes and loses more, the smaller the model the more.
        block_size: tokens in one block of the KV pool.
        num_blocks: blocks in the KV pool; None: as many as `kv_cache_bytes` holds.
        kv_cache_bytes: memory of the KV pool; None: 2 GiB on the CPU, 85 % of what is free on CUDA.
        max_num_seqs: sequences that run at the same time.
        max_num_batched_tokens: tokens computed in one step; longer prompts are cut into chunks.
        max_model_len: tokens of prompt and output together; None: what model and KV pool allow.
        pack_linear_weights: on the CPU, keep linear layers' weights in oneDNN's blocked layout;
            not where `quantization` asks for less memory.
        max_logprobs: likeliest tokens that a request may ask for at each position.
        max_listed_tokens: entries of a request's `logit_bias`, and of its `stop_token_ids`, and
            tokens of its `bad_words`.
        prefix_cache: keep keys and values of finished requests for those that begin alike.
        forced_text: append tokens that must follow without running the model for each.
        max_draft_tokens: tokens a step that prompt lookup guesses for each sequence; 0 is off.
        max_burst_steps: decode steps that the device takes without the host between them, where
            nothing needs it; 1 is off. Streams get so many tokens at once.
        mask_pool_bytes: on CUDA, memory of the mask rows that are kept on the device.
        automata_bytes: memory of the finite constraints that are kept on the device for bursts.

    Raises:
        InvalidConfigError: an option is out of its range, or two contradict each other.
    """

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: str = "auto"
    quantization: Quantization = "none"
    block_size: int = 16
    num_blocks: int | None = None
    kv_cache_bytes: int | None = None
    max_num_seqs: int = 32
    max_num_batched_tokens: int = 512
    max_model_len: int | None = None
    pack_linear_weights: bool = True
    max_logprobs: int = 20
    max_listed_tokens: int = 1024
    prefix_cache: bool = True
    forced_text: bool = True
    max_draft_tokens: int = 0
    max_burst_steps: int = 1
    mask_pool_bytes: int = 64 * 1024**2
    automata_bytes: int = 256 * 1024**2

    def __post_init__(self) -> None:
        for name, known in (
            ("dtype", ("auto", *_DTYPES)),
            ("quantization", get_args(Quantization)),
        ):
            given = getattr(self, name)
            if given not in known:
                raise InvalidConfigError(name, given, f"unknown; use one of {', '.join(known)}")
        for option in (
            "block_size",
            "max_num_seqs",
            "max_num_batched_tokens",
            "max_listed_tokens",
            "max_burst_steps",
            "mask_pool_bytes",
            "automata_bytes",
        ):
            self._check_positive(option, getattr(self, option))
        for option in ("max_logprobs", "max_draft_tokens"):
            if getattr(self, option) < 0:
                raise InvalidConfigError(option, getattr(self, option), "must be at least 0")
        for option in ("num_blocks", "kv_cache_bytes", "max_model_len"):
            if getattr(self, option) is not None:
                self._check_positive(option, getattr(self, option))
        if self.num_blocks is not None and self.kv_cache_bytes is not None:
            raise InvalidConfigError(
                "num_blocks", self.num_blocks, "give either num_blocks or kv_cache_bytes, not both"
            )
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise InvalidConfigError(
                "max_num_batched_tokens",
                self.max_num_batched_tokens,
                f"every running sequence needs one token a step; raise it to max_num_seqs="
                f"{self.max_num_seqs} at least",
            )

    @staticmethod
    def _check_positive(option: str, value: int) -> None:
        if value < 1:
            raise InvalidConfigError(option, value, "must be at least 1")


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
    block_bytes = kv_bytes_per_token * config.block_size
    num_blocks = config.num_blocks or _kv_cache_bytes(config, device) // block_bytes
    if num_blocks < 1:
        raise InvalidConfigError(
            "kv_cache_bytes", config.kv_cache_bytes, f"one block alone takes {block_bytes} bytes"
        )
    wanted = config.max_model_len or model_context_len
    if wanted > model_context_len:
        raise InvalidConfigError(
            "max_model_len", wanted, f"the model supports at most {model_context_len} tokens"
        )
    # Blocks that max_num_seqs sequences of full length could never fill would only waste memory.
    if config.num_blocks is None:
        num_blocks = min(num_blocks, config.max_num_seqs * -(-wanted // config.block_size))
    capacity = num_blocks * config.block_size
    if config.max_model_len is not None and config.max_model_len > capacity:
        raise InvalidConfigError(
            "max_model_len",
            config.max_model_len,
            f"the KV pool holds only {capacity} tokens; lower it or give the pool more memory",
        )
    return ResolvedConfig(
        dtype=dtype,
        device=device,
        block_size=config.block_size,
        num_blocks=num_blocks,
        max_num_seqs=config.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens,
        max_model_len=min(wanted, capacity),
        max_logprobs=config.max_logprobs,
        max_listed_tokens=config.max_listed_tokens,
        prefix_cache=config.prefix_cache,
        forced_text=config.forced_text,
        max_draft_tokens=config.max_draft_tokens,
        max_burst_steps=config.max_burst_steps,
        mask_pool_bytes=config.mask_pool_bytes,
        automata_bytes=config.automata_bytes,
    )


def _kv_cache_bytes(config: EngineConfig, device: torch.device) -> int:
    if config.kv_cache_bytes is not None:
        return config.kv_cache_bytes
    if device.type == "cpu":
        return CPU_KV_CACHE_BYTES
    free_bytes, _ = torch.cuda.mem_get_info(device)
    return int(free_bytes * CUDA_KV_CACHE_SHARE)
