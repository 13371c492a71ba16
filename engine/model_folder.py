"""load_model: the model of a folder, and what its configuration says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import AutoModelForCausalLM

from engine.config_check import check_config, check_memory
from engine.errors import ModelRefusedError
from engine.free_memory import free_memory
from engine.weight_headers import first_item, read_json_object, read_weight_headers

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from transformers import PreTrainedModel


def load_model(model_folder: Path, *, dtype: torch.dtype) -> PreTrainedModel:
    """The model on the CPU, in eval mode; safetensors only, no code from the folder, no network.

    Raises:
        ModelRefusedError: there is no loadable model in the folder, it lacks weights or has more
            layers than it says, or it is larger than the memory.
    """
    headers = read_weight_headers(model_folder)
    check_config(model_folder, read_json_object(model_folder / "config.json"), headers)
    check_memory(model_folder, headers, bytes_per_value=dtype.itemsize, free_bytes=free_memory())
    model: PreTrainedModel
    loading: dict[str, set[str]]
    try:
        model, loading = AutoModelForCausalLM.from_pretrained(  # type: ignore[misc]  # a pair now
            model_folder,
            output_loading_info=True,
            dtype=dtype,
            device_map=None,
            attn_implementation="eager",
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
        )
    except Exception as error:  # each check of a config or a file there raises its own type
        raise ModelRefusedError(f"{model_folder.name} cannot be loaded: {error}") from error
    # transformers fills missing weights with random numbers and only warns.
    missing = sorted(loading["missing_keys"])
    if missing:
        raise ModelRefusedError(
            f"{model_folder.name} lacks {len(missing)} of the model's weights, {missing[0]} first; "
            "its files are incomplete or of another architecture"
        )
    # Other weights may be left over (of a vision tower, say), but no layer of the same model.
    names = model.state_dict().keys()
    unused = sorted(name for name in loading["unexpected_keys"] if first_item(name) in names)
    if unused:
        raise ModelRefusedError(
            f"{model_folder.name} cannot be loaded: the weights have more layers than config.json "
            f"says, {unused[0]} is of none of them"
        )
    model.eval()  # type: ignore[no-untyped-call]
    return model


def context_len(model: PreTrainedModel) -> int:
    """The longest sequence that the model supports with frequencies that never change.

    Dynamic and long RoPE choose their frequencies by the longest sequence of the batch once it
    passes the original length, so one request would change the others; up to there they are exact.

    Raises:
        ModelRefusedError: the configuration has none.
    """
    config = model.config.get_text_config()
    lengths: dict[str, Any] = {
        "max_position_embeddings": getattr(config, "max_position_embeddings", None)
    }
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [rope] if "rope_type" in rope else [x for x in rope.values() if isinstance(x, dict)]
    for kind in kinds:
        original = kind.get("original_max_position_embeddings")
        if kind.get("rope_type") in ("dynamic", "longrope") and original is not None:
            lengths |= {"original_max_position_embeddings": original}
    for key, length in lengths.items():
        if type(length) is not int or length < 1:
            raise ModelRefusedError(
                f"{type(model).__name__}: config.json says {key}={length!r}, which must be a "
                "number of tokens"
            )
    return int(min(lengths.values()))


def eos_token_ids(model: PreTrainedModel, padded_vocab_size: int) -> tuple[int, ...]:
    """End-of-sequence ids of the generation config, then those of the model's config.

    Configs that hold ids which the model cannot write (-1, or one past the head) exist; such an id
    never ends anything and is left out.
    """
    found: list[int] = []
    for config in (model.generation_config, model.config.get_text_config()):
        ids = getattr(config, "eos_token_id", None)
        found += [ids] if isinstance(ids, int) else ids or []
    return tuple(token_id for token_id in dict.fromkeys(found) if 0 <= token_id < padded_vocab_size)
