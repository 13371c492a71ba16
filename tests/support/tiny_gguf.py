"""Tiny GGUF files for tests, written by the gguf package from models made here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gguf
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from tests.support.byte_vocabulary import byte_alphabet

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

CONFIGS = {"llama": LlamaConfig, "qwen2": Qwen2Config, "qwen3": Qwen3Config}
MODELS = {"llama": LlamaForCausalLM, "qwen2": Qwen2ForCausalLM, "qwen3": Qwen3ForCausalLM}

CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("h e", "l l", "he ll", "hell o", "Ġ Ġ", "1 2")
NUM_PADDING_ROWS = 5

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
)


@dataclass(frozen=True)
class TokenizerKeys:
    """The lists that a GGUF has of its tokenizer."""

    tokens: list[str]
    types: list[gguf.TokenType]
    merges: list[str]


def tokens() -> list[str]:
    """Bytes, merged tokens, control tokens and padding rows, by id."""
    merged = [merge.replace(" ", "") for merge in MERGES]
    padding = [f"[PAD{i}]" for i in range(NUM_PADDING_ROWS)]
    return [*byte_alphabet(), *merged, *CONTROL_TOKENS, *padding]


def tiny_tokenizer_keys() -> TokenizerKeys:
    """The tokenizer of this file."""
    types = [gguf.TokenType.NORMAL] * (256 + len(MERGES))
    types += [gguf.TokenType.CONTROL] * len(CONTROL_TOKENS)
    types += [gguf.TokenType.UNUSED] * NUM_PADDING_ROWS
    return TokenizerKeys(tokens(), types, list(MERGES))


def tokenizer_keys_of(tokenizer_json: dict[str, Any], *, num_padding_rows: int) -> TokenizerKeys:
    """What llama.cpp's converter writes for a byte-level BPE tokenizer.json.

    It takes every `<|...|>` for a control token, whether the file calls it special or not.
    """
    names = dict.fromkeys(tokenizer_json["model"]["vocab"], gguf.TokenType.NORMAL)
    for token in tokenizer_json["added_tokens"]:
        is_control = token["special"] or token["content"].startswith("<|")
        kind = gguf.TokenType.CONTROL if is_control else gguf.TokenType.USER_DEFINED
        names[token["content"]] = kind
    names |= {f"[PAD{i}]": gguf.TokenType.UNUSED for i in range(num_padding_rows)}
    return TokenizerKeys(list(names), list(names.values()), tokenizer_json["model"]["merges"])


def tiny_model(architecture: str, *, tied: bool = False) -> PreTrainedModel:
    """A random model whose weights are bfloat16 values, so that converting loses nothing."""
    torch.manual_seed(0)
    config = CONFIGS[architecture](
        vocab_size=len(tokens()),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=128,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 50_000.0},
        tie_word_embeddings=tied,
    )
    model: PreTrainedModel = MODELS[architecture](config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((torch.randn_like(parameter) * 0.3).bfloat16().float())
    model.eval()
    return model


def write_gguf(
    path: Path,
    model: PreTrainedModel,
    *,
    pre: str = "smollm",
    tokenizer: TokenizerKeys | None = None,
    extra: dict[str, int | str] | None = None,
    output: NDArray[np.float32] | None = None,
) -> None:
    """Write a model the way llama.cpp's converter does.

    Args:
        pre: the pre-tokenizer's name.
        tokenizer: None is the tiny one of this file.
        extra: metadata put in, or over what is there.
        output: an output matrix to store beside a tied embedding.
    """
    config = model.config
    architecture = config.model_type
    writer = gguf.GGUFWriter(path, architecture)
    _add_hyperparameters(writer, model)
    _add_tokenizer(writer, pre, tokenizer or tiny_tokenizer_keys())
    for key, value in (extra or {}).items():
        if isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_uint32(key, value)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        values = tensor.numpy()
        if architecture == "llama" and ".q_proj." in name:
            values = _permute(values, config.num_attention_heads)
        if architecture == "llama" and ".k_proj." in name:
            values = _permute(values, config.num_key_value_heads)
        writer.add_tensor(_gguf_name(name), values)
    if output is not None:
        writer.add_tensor("output.weight", output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_hyperparameters(writer: gguf.GGUFWriter, model: PreTrainedModel) -> None:
    config = model.config
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])


def _add_tokenizer(writer: gguf.GGUFWriter, pre: str, keys: TokenizerKeys) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(keys.tokens)
    writer.add_token_types(keys.types)
    writer.add_token_merges(keys.merges)
    writer.add_eos_token_id(keys.tokens.index("<|im_end|>"))
    writer.add_bos_token_id(keys.tokens.index("<|im_start|>"))
    writer.add_chat_template(CHAT_TEMPLATE)


def _permute(weight: NDArray[np.float32], num_heads: int) -> NDArray[np.float32]:
    """Half-split rotary order to interleaved order, row by row."""
    head_dim = weight.shape[0] // num_heads
    order = [
        head * head_dim + half * head_dim // 2 + pair
        for head in range(num_heads)
        for pair in range(head_dim // 2)
        for half in range(2)
    ]
    return weight[order]


def _gguf_name(name: str) -> str:
    replacements = {
        "model.embed_tokens": "token_embd",
        "model.norm": "output_norm",
        "lm_head": "output",
        "model.layers": "blk",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.o_proj": "attn_output",
        "self_attn.q_norm": "attn_q_norm",
        "self_attn.k_norm": "attn_k_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for ours, theirs in replacements.items():
        name = name.replace(ours, theirs)
    return name
