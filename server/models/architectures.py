"""Architecture: the model families a GGUF file may hold, as transformers configs and names."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from server.models.errors import InvalidModelFileError, UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from server.models.gguf import GgufFile


@dataclass(frozen=True, slots=True)
class Architecture:
    """What differs between the decoder families that we convert.

    Args:
        model_type: both GGUF's `general.architecture` and Hugging Face's `model_type`.
        class_name: of the transformers model.
        has_permuted_rope: attn_q and attn_k rows are stored in the interleaved order of the
            original rotary embedding (arXiv:2104.09864) and must be brought to the half-split
            order.
        extra_config: config entries that hold for the whole family.
    """

    model_type: str
    class_name: str
    has_permuted_rope: bool
    extra_config: Mapping[str, object]


ARCHITECTURES: Final[Mapping[str, Architecture]] = MappingProxyType(
    {
        architecture.model_type: architecture
        for architecture in (
            Architecture(
                "llama",
                "LlamaForCausalLM",
                has_permuted_rope=True,
                extra_config={"attention_bias": False, "mlp_bias": False},
            ),
            Architecture("qwen2", "Qwen2ForCausalLM", has_permuted_rope=False, extra_config={}),
            Architecture(
                "qwen3",
                "Qwen3ForCausalLM",
                has_permuted_rope=False,
                extra_config={"attention_bias": False},
            ),
        )
    }
)

_TOP_LEVEL_NAMES: Final = MappingProxyType(
    {
        "token_embd": "model.embed_tokens",
        "output_norm": "model.norm",
        "output": "lm_head",
    }
)

_BLOCK_NAMES: Final = MappingProxyType(
    {
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_q_norm": "self_attn.q_norm",
        "attn_k_norm": "self_attn.k_norm",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
)

_HONOURED_KEYS: Final = frozenset(
    {
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.layer_norm_rms_epsilon",
        "attention.value_length",
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "rope.dimension_count",
        "rope.freq_base",
        "vocab_size",
    }
)


def find_architecture(gguf: GgufFile) -> Architecture:
    """The file's architecture, once all of its keys are known to be honoured.

    Raises:
        UnsupportedModelError: an architecture or a hyperparameter that we do not convert.
    """
    name = str(gguf.metadata.get("general.architecture"))
    if name not in ARCHITECTURES:
        raise UnsupportedModelError(
            f"GGUF architecture {name!r}",
            f"{', '.join(ARCHITECTURES)} are converted; use the model's safetensors folder instead",
        )
    for key in gguf.metadata:
        if key.startswith(f"{name}.") and key.removeprefix(f"{name}.") not in _HONOURED_KEYS:
            raise UnsupportedModelError(
                f"GGUF key {key!r}", "it changes the model in a way that is not converted"
            )
    return ARCHITECTURES[name]


def make_config(gguf: GgufFile, architecture: Architecture, *, is_tied: bool) -> dict[str, object]:
    """The content of config.json, but for the token ids.

    Raises:
        InvalidModelFileError: a key is missing, is not a positive number, or claims blocks that
            no tensor is of.
        UnsupportedModelError: a geometry that the transformers module does not have.
    """
    hyper = _Hyperparameters(gguf, architecture.model_type)
    num_heads = hyper.count("attention.head_count")
    hidden_size = hyper.count("embedding_length")
    head_dim = hyper.count("attention.key_length", default=hidden_size // num_heads)
    num_blocks = hyper.count("block_count")
    blocks = {name.split(".")[1] for name in gguf.tensors if name.startswith("blk.")}
    if num_blocks != len(blocks):
        raise InvalidModelFileError(
            gguf.path,
            f"key '{architecture.model_type}.block_count' is {num_blocks}, "
            f"its tensors are of {len(blocks)} blocks",
        )
    for key in ("attention.value_length", "rope.dimension_count"):
        if hyper.count(key, default=head_dim) != head_dim:
            raise UnsupportedModelError(
                f"GGUF key '{architecture.model_type}.{key}'",
                f"only the head size, {head_dim}, is converted",
            )
    return {
        "architectures": [architecture.class_name],
        "model_type": architecture.model_type,
        "dtype": "bfloat16",
        "hidden_act": "silu",
        "hidden_size": hidden_size,
        "intermediate_size": hyper.count("feed_forward_length"),
        "num_hidden_layers": num_blocks,
        "num_attention_heads": num_heads,
        "num_key_value_heads": hyper.count("attention.head_count_kv", default=num_heads),
        "head_dim": head_dim,
        "max_position_embeddings": hyper.count("context_length"),
        "rms_norm_eps": hyper.number("attention.layer_norm_rms_epsilon"),
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": hyper.number("rope.freq_base", default=10000.0),
        },
        "tie_word_embeddings": is_tied,
        "vocab_size": gguf.tensors["token_embd.weight"].shape[0],
        **architecture.extra_config,
    }


def hf_tensor_name(name: str) -> str:
    """The name of a GGUF tensor in the Hugging Face module.

    Raises:
        UnsupportedModelError: the tensor has no place there.
    """
    stem, _, suffix = name.rpartition(".")
    if suffix in ("weight", "bias"):
        if stem in _TOP_LEVEL_NAMES:
            return f"{_TOP_LEVEL_NAMES[stem]}.{suffix}"
        match stem.split("."):
            case ["blk", layer, part] if layer.isdigit() and part in _BLOCK_NAMES:
                return f"model.layers.{layer}.{_BLOCK_NAMES[part]}.{suffix}"
    raise UnsupportedModelError(
        f"GGUF tensor {name!r}", "it has no place in the transformers model of this architecture"
    )


def unpermute_rope(weight: NDArray[np.float32], num_heads: int) -> NDArray[np.float32]:
    """Rows of attn_q or attn_k, from interleaved pairs to two halves.

    Args:
        weight: (num_heads * head_dim, ...); row 2i + j of a head goes to row j * head_dim / 2 + i.
        num_heads: query heads for attn_q, key heads for attn_k.
    """
    half = weight.shape[0] // num_heads // 2
    pairs = weight.reshape(num_heads, half, 2, *weight.shape[1:])
    return pairs.swapaxes(1, 2).reshape(weight.shape)


class _Hyperparameters:
    """Typed access to the keys of one architecture."""

    def __init__(self, gguf: GgufFile, prefix: str) -> None:
        self._gguf = gguf
        self._prefix = prefix

    def count(self, key: str, *, default: int | None = None) -> int:
        value = self._gguf.metadata.get(f"{self._prefix}.{key}", default)
        if type(value) is not int or value < 1:
            raise self._bad(key, value)
        return value

    def number(self, key: str, *, default: float | None = None) -> float:
        value = self._gguf.metadata.get(f"{self._prefix}.{key}", default)
        if type(value) is not float or not value > 0:
            raise self._bad(key, value)
        return float(str(np.float32(value)))  # the shortest decimal: 1e-05, not 9.99999974e-06

    def _bad(self, key: str, value: object) -> InvalidModelFileError:
        said = "is missing" if value is None else f"is {value!r}, not a positive number"
        return InvalidModelFileError(self._gguf.path, f"key '{self._prefix}.{key}' {said}")
