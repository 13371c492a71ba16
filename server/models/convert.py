"""convert_gguf: a GGUF file as an ordinary Hugging Face folder, in one pass over its tensors."""

from __future__ import annotations

import errno
import json
import math
import os
from typing import TYPE_CHECKING, Final

import numpy as np

from server.models.architectures import (
    Architecture,
    find_architecture,
    hf_tensor_name,
    make_config,
    unpermute_rope,
)
from server.models.errors import InvalidModelFileError
from server.models.gguf import GgufFile
from server.models.gguf_tokenizer import GgufTokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from server.models.progress import Progress

CONVERTER_VERSION: Final = 1
"""Raised when the same file converts to something else, so that cached folders are made anew."""

MAX_SHARD_BYTES: Final = 4 * 1024**3
"""Size of one safetensors file, and so of what is held in memory; a larger model gets several."""

_BYTES_PER_WEIGHT: Final = 2
_TIED_DISTANCE: Final = 0.3
_TIED_SAMPLE_ROWS: Final = 512


def convert_gguf(
    path: Path, folder: Path, *, progress: Progress, max_shard_bytes: int = MAX_SHARD_BYTES
) -> None:
    """Write the configs, the tokenizer files and the weights, in bfloat16, into `folder`.

    Raises:
        InvalidModelFileError: the file is damaged or contradicts itself.
        UnsupportedModelError: an architecture, tensor, key or tokenizer that is not converted.
    """
    gguf = GgufFile(path)
    architecture = find_architecture(gguf)
    tokenizer = GgufTokenizer.from_gguf(gguf)
    sources = _tensor_sources(gguf)
    config = make_config(gguf, architecture, is_tied="lm_head.weight" not in sources)
    _write_texts(folder, gguf, config, tokenizer)
    _write_weights(folder, gguf, architecture, sources, progress, max_shard_bytes)


def _write_texts(
    folder: Path, gguf: GgufFile, config: dict[str, object], tokenizer: GgufTokenizer
) -> None:
    if len(tokenizer.tokens) > gguf.tensors["token_embd.weight"].shape[0]:
        raise InvalidModelFileError(gguf.path, "more tokens than rows of the embedding matrix")
    token_ids = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_ids,
        "pad_token_id": tokenizer.pad_token_id,
    }
    context_length = gguf.metadata[f"{config['model_type']}.context_length"]
    assert isinstance(context_length, int)  # make_config has checked it
    _write_json(folder / "config.json", {**config, **token_ids})
    _write_json(folder / "generation_config.json", token_ids)
    _write_json(folder / "tokenizer.json", tokenizer.tokenizer_json())
    _write_json(
        folder / "tokenizer_config.json",
        tokenizer.tokenizer_config(model_max_length=context_length),
    )


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")


def _tensor_sources(gguf: GgufFile) -> dict[str, str]:
    """Hugging Face tensor name -> GGUF tensor name.

    Tied models may store their one matrix twice, at two precisions: then the output matrix, the
    better of the two, is used for both and no lm_head is written.
    """
    for name in ("token_embd.weight", "output_norm.weight"):
        if name not in gguf.tensors:
            raise InvalidModelFileError(gguf.path, f"no tensor {name!r}")
    sources = {hf_tensor_name(name): name for name in gguf.tensors}
    if "lm_head.weight" in sources and _is_same_matrix(gguf, "token_embd.weight", "output.weight"):
        sources["model.embed_tokens.weight"] = sources.pop("lm_head.weight")
    return sources


def _is_same_matrix(gguf: GgufFile, one: str, other: str) -> bool:
    """Whether two tensors differ by no more than the rounding of their quantisations.

    4-bit blocks are within a tenth of the values' size; independent matrices are about 1.4 apart.
    """
    if gguf.tensors[one].shape != gguf.tensors[other].shape:
        return False
    step = max(1, gguf.tensors[one].shape[0] // _TIED_SAMPLE_ROWS)
    a, b = gguf.tensor(one)[::step], gguf.tensor(other)[::step]
    return bool(np.linalg.norm(a - b) < _TIED_DISTANCE * np.linalg.norm(b))


def _write_weights(
    folder: Path,
    gguf: GgufFile,
    architecture: Architecture,
    sources: dict[str, str],
    progress: Progress,
    max_shard_bytes: int,
) -> None:
    shards = _plan_shards(gguf, sources, max_shard_bytes)
    total_bytes = sum(_weight_bytes(gguf, source) for source in sources.values())
    done_bytes = 0
    weight_map: dict[str, str] = {}
    with progress.stage(f"Converting {gguf.path.name}", total_bytes) as advance:
        for number, names in enumerate(shards, start=1):
            file_name = (
                "model.safetensors"
                if len(shards) == 1
                else f"model-{number:05}-of-{len(shards):05}.safetensors"
            )
            tensors: dict[str, Tensor] = {}
            for name in names:
                tensors[name] = _convert_tensor(gguf, architecture, sources[name])
                done_bytes += _weight_bytes(gguf, sources[name])
                advance(done_bytes)
            _save(tensors, folder / file_name)
            weight_map |= dict.fromkeys(names, file_name)
    if len(shards) > 1:
        index = {"metadata": {"total_size": total_bytes}, "weight_map": weight_map}
        _write_json(folder / "model.safetensors.index.json", index)


def _save(tensors: dict[str, Tensor], path: Path) -> None:
    """Write one safetensors file.

    Raises:
        OSError: it cannot be written; safetensors has an error of its own for that.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:
        is_full = os.strerror(errno.ENOSPC) in str(error)
        raise OSError(errno.ENOSPC if is_full else errno.EIO, str(error), str(path)) from error
    path.chmod(0o644)  # it is written through a private temporary file


def _plan_shards(gguf: GgufFile, sources: dict[str, str], max_shard_bytes: int) -> list[list[str]]:
    """Names of the tensors of each file; a tensor larger than a shard gets a file of its own."""
    shards: list[list[str]] = [[]]
    used_bytes = 0
    for name, source in sources.items():
        num_bytes = _weight_bytes(gguf, source)
        if shards[-1] and used_bytes + num_bytes > max_shard_bytes:
            shards.append([])
            used_bytes = 0
        shards[-1].append(name)
        used_bytes += num_bytes
    return shards


def _weight_bytes(gguf: GgufFile, source: str) -> int:
    return math.prod(gguf.tensors[source].shape) * _BYTES_PER_WEIGHT


def _convert_tensor(gguf: GgufFile, architecture: Architecture, source: str) -> Tensor:
    import torch

    values: NDArray[np.float32] = gguf.tensor(source)
    part = source.split(".")[-2]
    if architecture.has_permuted_rope and part in ("attn_q", "attn_k"):
        num_heads = _num_heads(gguf, architecture, part)
        if len(values) % (2 * num_heads):
            raise InvalidModelFileError(
                gguf.path, f"tensor {source}: {len(values)} rows are not {num_heads} heads"
            )
        values = unpermute_rope(values, num_heads)
    return torch.from_numpy(np.ascontiguousarray(values)).to(torch.bfloat16)


def _num_heads(gguf: GgufFile, architecture: Architecture, part: str) -> int:
    """Heads of attn_q or of attn_k."""
    prefix = f"{architecture.model_type}.attention"
    num_heads = gguf.metadata[f"{prefix}.head_count"]
    if part == "attn_k":
        num_heads = gguf.metadata.get(f"{prefix}.head_count_kv", num_heads)
    assert isinstance(num_heads, int)  # make_config has checked it
    return num_heads
