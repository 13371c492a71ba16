"""check_config: what config.json claims, against the weights, before a module is built of it.

A module is built of the claims alone: a billion layers would be built, or listed, for hours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from engine.errors import ModelRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from engine.weight_headers import WeightHeaders

_LAYER_KEYS: Final = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_SIZE_KEYS: Final = (
    *("vocab_size", "hidden_size", "intermediate_size", "head_dim", "n_embd", "n_inner"),
    *("num_attention_heads", "num_key_value_heads", "n_head", "moe_intermediate_size"),
    *("num_experts", "num_local_experts", "n_routed_experts", "num_experts_per_tok"),
)
"""Each is a dimension of some weight, or a part of one."""

_REFUSED: Final = {
    "transformers_weights": "weights of another name are not loaded; call them model.safetensors",
    "auto_map": "code from a model folder is never run; use a model that transformers has itself",
}
_ADAPTER: Final = "adapter_config.json"


def check_config(model_folder: Path, config: Mapping[str, Any], headers: WeightHeaders) -> None:
    """Check the numbers that decide how much is built.

    Args:
        model_folder: where both come from.
        config: the parsed config.json; its `text_config`, if it has one, is checked too.
        headers: of the weights.

    Raises:
        ModelRefusedError: a claim is not borne out by the weights; both numbers are told.
    """
    for key, way_out in _REFUSED.items():
        if config.get(key):
            raise _refusal(model_folder, f"config.json has {key!r}: {way_out}")
    if (model_folder / _ADAPTER).exists():
        raise _refusal(
            model_folder, f"{_ADAPTER} names weights elsewhere; merge the adapter into its model"
        )
    for part in (config, config.get("text_config")):
        if isinstance(part, dict):
            _check_numbers(model_folder, part, headers)


def check_memory(
    model_folder: Path, headers: WeightHeaders, *, bytes_per_value: int, free_bytes: int | None
) -> None:
    """Check that the weights fit into memory.

    Args:
        model_folder: where they are.
        headers: of the weights.
        bytes_per_value: of the dtype in which they are loaded.
        free_bytes: memory that may be taken; None: nobody knows.

    Raises:
        ModelRefusedError: they do not; both numbers are told.
    """
    num_bytes = headers.num_values * bytes_per_value
    if free_bytes is not None and num_bytes > free_bytes:
        raise _refusal(
            model_folder, f"its weights take {num_bytes} bytes of memory, {free_bytes} are free"
        )


def _check_numbers(model_folder: Path, config: Mapping[str, Any], headers: WeightHeaders) -> None:
    for key in _LAYER_KEYS:
        claimed = config.get(key)
        if claimed is not None and not (
            type(claimed) is int and 1 <= claimed <= headers.num_layers
        ):
            raise _refusal(
                model_folder,
                f"config.json says {key}={claimed!r}, the weights have {headers.num_layers} layers",
            )
    for key in _SIZE_KEYS:
        claimed = config.get(key)
        if isinstance(claimed, int | float) and not 0 <= claimed <= headers.largest_size:
            raise _refusal(
                model_folder,
                f"config.json says {key}={claimed!r}, the largest dimension of any weight is "
                f"{headers.largest_size}",
            )


def _refusal(model_folder: Path, reason: str) -> ModelRefusedError:
    return ModelRefusedError(f"{model_folder.name} cannot be loaded: {reason}")
