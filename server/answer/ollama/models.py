"""What Ollama's API says of the served model."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engine.model_info import ModelInfo
    from server.answer.bodies import Json
    from server.services import ServedModel

_DTYPES: Final = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}
"""The engine's name of a type -> that of GGUF files."""

_NEVER: Final = "9999-12-31T23:59:59Z"


def model_body(name: str, model: ServedModel) -> Json:
    """One entry of /api/tags; the digest changes when the model or its configuration does."""
    return {
        "name": name,
        "model": name,
        "modified_at": _modified_at(model),
        "size": 0 if model.info is None else model.info.num_weight_bytes,
        "digest": hashlib.sha256(model.fingerprint.encode()).hexdigest(),
        "details": _details(model.info),
    }


def running_body(name: str, model: ServedModel) -> Json:
    """One entry of /api/ps: the model is loaded, and stays so."""
    body = model_body(name, model)
    del body["modified_at"]
    is_on_cpu = model.info is None or model.info.device == "cpu"
    return body | {
        "expires_at": _NEVER,
        "size_vram": 0 if is_on_cpu else body["size"],
        "context_length": model.max_model_len,
    }


def show_body(model: ServedModel, template: str, *, may_think: bool) -> Json:
    """The answer of /api/show."""
    info = model.info
    family = _family(info)
    facts: Json = {
        "general.basename": model.names[0],
        f"{family}.context_length": model.max_model_len,
    }
    if info is not None:
        facts |= {"general.architecture": family, "general.parameter_count": info.num_parameters}
    return {
        "modelfile": "",
        "parameters": "",
        "template": template,
        "details": _details(info),
        "model_info": facts,
        "capabilities": ["completion", "tools", *(["thinking"] if may_think else [])],
        "modified_at": _modified_at(model),
    }


def _modified_at(model: ServedModel) -> str:
    return datetime.fromtimestamp(model.created, UTC).isoformat().replace("+00:00", "Z")


def _details(info: ModelInfo | None) -> Json:
    family = _family(info)
    return {
        "parent_model": "",
        "format": "safetensors",
        "family": family,
        "families": [family],
        "parameter_size": "" if info is None else _short(info.num_parameters),
        "quantization_level": "" if info is None else _level(info),
    }


def _family(info: ModelInfo | None) -> str:
    return "unknown" if info is None else info.architecture.removesuffix("ForCausalLM").lower()


def _level(info: ModelInfo) -> str:
    """Of the weights; ours are none of GGUF's, so they keep their own names."""
    return _DTYPES[info.dtype] if info.quantization == "none" else info.quantization.upper()


def _short(count: int) -> str:
    """A count as people write it: 134.5M, 7.6B."""
    return f"{count / 1e9:.1f}B" if count >= 1e9 else f"{count / 1e6:.1f}M"
