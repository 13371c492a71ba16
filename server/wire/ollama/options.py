"""Options: how the text is chosen and where it ends, in llama.cpp's words."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from server.wire.base import Items, WireModel


class Options(WireModel):
    """The options of a request; null means absent, which is this server's default.

    `num_predict` -1 and -2 leave the length to the context. Those below the empty line are about
    loading a model, or about ways to sample that this server does not have: they have no effect.
    """

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    min_p: Annotated[float, Field(ge=0, lt=1)] | None = None
    repeat_penalty: Annotated[float, Field(gt=0, le=10)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    num_predict: Annotated[int, Field(ge=-2)] | None = None
    stop: str | Items[str] | None = None

    embedding_only: object = None
    f16_kv: object = None
    logits_all: object = None
    low_vram: object = None
    main_gpu: object = None
    mirostat: object = None
    mirostat_eta: object = None
    mirostat_tau: object = None
    num_batch: object = None
    num_ctx: object = None
    num_gpu: object = None
    num_keep: object = None
    num_thread: object = None
    numa: object = None
    penalize_newline: object = None
    repeat_last_n: object = None
    tfs_z: object = None
    typical_p: object = None
    use_mlock: object = None
    use_mmap: object = None
    vocab_only: object = None


_HONOURED = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "repeat_penalty",
        "presence_penalty",
        "frequency_penalty",
        "seed",
        "num_predict",
        "stop",
    }
)


def ignored_options(options: Options) -> list[str]:
    """The paths of the known options that are set and have no effect."""
    names = [name for name in Options.model_fields if name not in _HONOURED]
    return [f"options.{name}" for name in names if getattr(options, name) is not None]
