"""write_tiny_folder: a random llama of a few thousand parameters as an ordinary model folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.models.convert import convert_gguf
from tests.support.silent_progress import SilentProgress
from tests.support.tiny_gguf import tiny_model, write_gguf

if TYPE_CHECKING:
    from pathlib import Path


def write_tiny_folder(
    folder: Path, *, context_len: int | None = None, chat_template: str | None = None
) -> Path:
    """Write the model into a folder, which is made if there is none.

    Args:
        folder: where; a file beside it is written on the way.
        context_len: tokens that the model supports; None: its usual few.
        chat_template: None: the plain one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = tiny_model("llama")
    if context_len is not None:
        model.config.max_position_embeddings = context_len
    extra: dict[str, int | str] = (
        {} if chat_template is None else {"tokenizer.chat_template": chat_template}
    )
    source = folder.with_suffix(".gguf")
    write_gguf(source, model, extra=extra)
    convert_gguf(source, folder, progress=SilentProgress())
    return folder
