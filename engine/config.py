"""EngineConfig: what the operator asks of the engine. No torch: the server reads flags with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from engine.errors import InvalidConfigError

Dtype: TypeAlias = Literal["auto", "float32", "bfloat16", "float16"]
Quantization: TypeAlias = Literal["none", "int8", "int4"]
"""What the weights of linear layers are kept in; "none": the model's dtype."""


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The engine's options, checked on construction.

    Args:
        dtype: of weights and activations; auto is bfloat16 where the device supports it natively,
            else float32.
        device: auto (CUDA if available, else CPU), cpu, cuda or cuda:<index>.
        quantization: of the weights of linear layers except the output head. int8 costs little
            quality; int4 needs bitsandbytes and costs more, most with small models.
        block_size: tokens in one block of the KV pool.
        num_blocks: blocks in the KV pool; None: as many as `kv_cache_bytes` holds.
        kv_cache_bytes: memory of the KV pool; None: on the CPU 2 GiB or half of
            what is free, on CUDA 85 % of that.
        max_num_seqs: sequences that run at the same time; None: 32 on the CPU, 128 on CUDA.
        max_num_batched_tokens: tokens computed in one step; longer prompts are cut into chunks;
            None: 512 on the CPU, 2,048 on CUDA.
        max_model_len: tokens of prompt and output together; None: as many as the model and the
            KV pool allow.
        pack_linear_weights: on the CPU, keep weights of linear layers in oneDNN's blocked layout;
            no effect together with `quantization`.
        max_logprobs: most likely tokens that a request may ask for at each position.
        max_listed_tokens: entries of a request's `logit_bias` and of its `stop_token_ids`, and
            tokens of its `bad_words`.
        prefix_cache: keep keys and values of finished requests for later ones with the same
            beginning.
        forced_text: append tokens that must follow without a forward pass for each.
        max_draft_tokens: tokens that prompt lookup drafts per sequence and step; 0 is off.
        cuda_graphs: on CUDA, record the launches of small steps once and replay them.
        max_burst_steps: decode steps that the device runs without the host in between, where
            nothing requires the host; 1 is off. A stream then gets that many tokens at once.
        mask_pool_bytes: memory of the mask rows that are kept where the logits are; None: 16 MiB
            on the CPU, 64 MiB on CUDA.
        automata_bytes: memory for finite constraints that are kept on the device for bursts.

    Raises:
        InvalidConfigError: an option is out of its range, or two contradict each other.
    """

    dtype: Dtype = "auto"
    device: str = "auto"
    quantization: Quantization = "none"
    block_size: int = 16
    num_blocks: int | None = None
    kv_cache_bytes: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    max_model_len: int | None = None
    pack_linear_weights: bool = True
    max_logprobs: int = 20
    max_listed_tokens: int = 1024
    prefix_cache: bool = True
    forced_text: bool = True
    max_draft_tokens: int = 0
    cuda_graphs: bool = True
    max_burst_steps: int = 1
    mask_pool_bytes: int | None = None
    automata_bytes: int = 256 * 1024**2

    def __post_init__(self) -> None:
        for name, known in (
            ("dtype", get_args(Dtype)),
            ("quantization", get_args(Quantization)),
        ):
            given = getattr(self, name)
            if given not in known:
                raise InvalidConfigError(name, given, f"unknown; use one of {', '.join(known)}")
        for option in (
            "block_size",
            "max_listed_tokens",
            "max_burst_steps",
            "automata_bytes",
        ):
            self._check_positive(option, getattr(self, option))
        for option in ("max_logprobs", "max_draft_tokens"):
            if getattr(self, option) < 0:
                raise InvalidConfigError(option, getattr(self, option), "must be at least 0")
        for option in (
            "max_num_seqs",
            "max_num_batched_tokens",
            "num_blocks",
            "kv_cache_bytes",
            "max_model_len",
            "mask_pool_bytes",
        ):
            if getattr(self, option) is not None:
                self._check_positive(option, getattr(self, option))
        if self.num_blocks is not None and self.kv_cache_bytes is not None:
            raise InvalidConfigError(
                "num_blocks", self.num_blocks, "give either num_blocks or kv_cache_bytes, not both"
            )
        if (self.max_num_batched_tokens or math.inf) < (self.max_num_seqs or 1):
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
