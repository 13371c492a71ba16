"""A whole server around a tiny random model: what it writes is noise, but for what binds it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from engine.config import EngineConfig
from server.assembly import load_server
from server.config import ServerConfig
from server.engine_process.settings import EngineProcessConfig
from tests.support.chat_server import TOOL_TEMPLATE, running
from tests.support.tiny_folder import write_tiny_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTEXT_LEN = 4096


@contextmanager
def tiny_server(
    folder: Path, config: ServerConfig | None = None, *, chat_template: str = TOOL_TEMPLATE
) -> Iterator[str]:
    """Serve a model that is made in an empty folder; gives the base URL."""
    write_tiny_folder(folder, context_len=CONTEXT_LEN, chat_template=chat_template)
    loaded = load_server(
        folder,
        EngineConfig(dtype="float32", max_num_seqs=4, max_model_len=CONTEXT_LEN),
        config or ServerConfig(),
        EngineProcessConfig(engine_process=False),
        announce=lambda _stage: None,
    )
    with running(loaded.services, loaded.lifespan) as url:
        yield url
