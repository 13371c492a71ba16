"""ModelInfo: what the engine found out about the model that it serves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about the loaded model.

    Args:
        name: of the model's folder.
        architecture: the transformers class, "LlamaForCausalLM".
        num_parameters: weights, tied ones counted once.
        dtype: "float32", "bfloat16" or "float16".
        quantization: of the linear layers' weights: "none", "int8" or "int4".
        num_weight_bytes: memory of all weights as they are kept.
        device: "cpu" or "cuda:0".
        padded_vocab_size: rows of the output head; may be more than the tokenizer has ids.
        eos_token_ids: of the generation config and of the model's config, in that order.
        context_len: the longest sequence that the model itself supports.
        is_batch_invariant: whether a sequence's tokens do not depend on the rest of the batch.
    """

    name: str
    architecture: str
    num_parameters: int
    dtype: str
    quantization: str
    num_weight_bytes: int
    device: str
    padded_vocab_size: int
    eos_token_ids: tuple[int, ...]
    context_len: int
    is_batch_invariant: bool
