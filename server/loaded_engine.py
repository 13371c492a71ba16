"""LoadedEngine: the engine with what goes with it, in this process or in one of its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engine.pacing import Pacer
from grammars.backends.base import get_backend
from server.backend import load_backend
from server.engine_client import EngineClient
from server.engine_process.client import ProcessEngine
from server.engine_process.launch import launch
from server.engine_process.messages import Start
from server.grammar_compiler import GrammarCompiler
from server.logs import log_settings
from server.quiet import quiet_transformers
from server.tokenizer import load_tokenizer, make_vocabulary, without_torch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from transformers import PreTrainedTokenizerFast

    from engine.config import EngineConfig
    from engine.model_info import ModelInfo
    from grammars.vocabulary import Vocabulary
    from server.config import ServerConfig
    from server.engine_process.settings import EngineProcessConfig
    from server.grammar_compiler import Compiler


class RunningEngine(EngineClient, Protocol):
    """An engine client that is started and stopped with the server."""

    @property
    def info(self) -> ModelInfo:
        """Facts about the model."""
        ...

    @property
    def max_model_len(self) -> int:
        """Tokens of prompt and output together."""
        ...

    def start(self) -> None:
        """Begin, on the running event loop."""
        ...

    async def shutdown(self) -> None:
        """End; those who wait get EngineDeadError."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedEngine:
    """What differs with the process in which the engine lives.

    Args:
        engine: loaded, not started.
        compiler: of grammars that the engine can use.
        tokenizer: the model's.
        vocabulary: of the tokenizer.
    """

    engine: RunningEngine
    compiler: Compiler
    tokenizer: PreTrainedTokenizerFast
    vocabulary: Vocabulary


def load_engine(
    model_folder: Path,
    engine_config: EngineConfig,
    server_config: ServerConfig,
    process_config: EngineProcessConfig,
    announce: Callable[[str], None],
) -> LoadedEngine:
    """Load a model where the settings say.

    Args:
        model_folder: an ordinary Hugging Face folder.
        engine_config: the engine's options.
        server_config: the server's options.
        process_config: whether the engine lives in a process of its own.
        announce: told of each stage that takes time, one sentence.

    Raises:
        StartupError: the tokenizer or the grammar backend is unusable.
        EngineError: the engine refuses the model or an option.
    """
    if not process_config.engine_process:
        return _load_here(model_folder, engine_config, server_config, announce)
    engine, tokenizer = asyncio.run(
        _launch(model_folder, engine_config, server_config, process_config, announce)
    )
    return LoadedEngine(engine, engine, tokenizer, make_vocabulary(tokenizer, engine.info))


def _load_here(
    model_folder: Path,
    engine_config: EngineConfig,
    server_config: ServerConfig,
    announce: Callable[[str], None],
) -> LoadedEngine:
    backend = load_backend(
        model_folder,
        engine_config,
        grammar_backend=server_config.grammar_backend,
        grammar_cache_bytes=server_config.grammar_cache_bytes,
        announce=announce,
    )
    backend.prepare_grammars()
    compiler = GrammarCompiler(
        backend.compile_spec,
        max_concurrent=server_config.max_concurrent_compiles,
        max_waiting=server_config.max_waiting_requests,
        warm_actions=server_config.warm_actions,
        cache=backend.grammar_cache,
        automata=backend.automata,
        pacer=Pacer(lambda: backend.engine.is_busy),
    )
    return LoadedEngine(backend.engine, compiler, backend.tokenizer, backend.vocabulary)


async def _launch(
    model_folder: Path,
    engine_config: EngineConfig,
    server_config: ServerConfig,
    process_config: EngineProcessConfig,
    announce: Callable[[str], None],
) -> tuple[ProcessEngine, PreTrainedTokenizerFast]:
    """The engine in a process of its own, and our tokenizer, which we load meanwhile."""
    get_backend(server_config.grammar_backend)  # an unknown one is told before the slow part
    start = Start(
        model_folder=str(model_folder),
        engine=engine_config,
        grammar_backend=server_config.grammar_backend,
        grammar_cache_bytes=server_config.grammar_cache_bytes,
        max_concurrent_compiles=server_config.max_concurrent_compiles,
        max_waiting_compiles=server_config.max_waiting_requests,
        warm_actions=server_config.warm_actions,
        heartbeat_s=process_config.engine_heartbeat_s,
        logs=log_settings(),
    )
    silence_s = process_config.engine_loading_silence_s
    launching = asyncio.create_task(launch(start, announce=announce, silence_s=silence_s))
    await asyncio.sleep(0)  # the process starts before we are busy
    loading = asyncio.create_task(asyncio.to_thread(_load_tokenizer, model_folder))
    child = await launching  # a tokenizer that it cannot load either, it tells of
    try:
        tokenizer = await loading
    except BaseException:
        await child.end()
        raise
    return ProcessEngine(child, start, process_config, announce=announce), tokenizer


def _load_tokenizer(model_folder: Path) -> PreTrainedTokenizerFast:
    with without_torch():
        quiet_transformers()
        return load_tokenizer(model_folder)
