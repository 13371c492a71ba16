"""load_model: the model of a folder, and what its configuration says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transformers import AutoModelForCausalLM

from engine.errors import ModelRefusedError

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from transformers import PreTrainedModel


def load_model(model_folder: Path, *, dtype: torch.dtype) -> PreTrainedModel:
    """The model on the CPU, in eval mode; safetensors only, no code from the folder, no network.

    Raises:
        ModelRefusedError: there is no loadable model in the folder, or it lacks weights.
    """
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
    model.eval()  # type: ignore[no-untyped-call]
    return model


def context_len(model: PreTrainedModel) -> int:
    """The longest sequence that the model supports with frequencies that never change.

    Dynamic and long RoPE choose their frequencies by the longest sequence of the batch once it
    passes the original length, so one request would change the others; up to there they are exact.
    """
    config = model.config.get_text_config()
    longest = int(config.max_position_embeddings)
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [rope] if "rope_type" in rope else [kind for kind in rope.values() if kind]
    for kind in kinds:
        if kind.get("rope_type") in ("dynamic", "longrope"):
            original = kind.get("original_max_position_embeddings")
            longest = min(longest, int(original or longest))
    return longest


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
