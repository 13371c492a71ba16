"""Assembly: from a model folder to services, stage by stage; the place that joins the rooms."""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from grammars.backends.base import get_backend
from server.backend import load_backend
from server.chat.prompt import PromptBuilder
from server.chat.template import ChatTemplate
from server.collector import collected_when_idle
from server.engine_client import EngineClient
from server.engine_process.client import ProcessEngine
from server.engine_process.launch import launch
from server.engine_process.messages import Start
from server.errors import StartupError
from server.grammar_compiler import GrammarCompiler
from server.logs import log_settings
from server.metrics import Metrics
from server.quiet import quiet_transformers
from server.routes.health import installed_version
from server.services import ServedModel, Services
from server.tokenizer import load_tokenizer, make_vocabulary, without_torch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from fastapi import FastAPI
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
class LoadedServer:
    """Services, and the engine that must run while they are used."""

    services: Services
    engine: RunningEngine

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Run the engine on this event loop; at the end, stop it and the compiler."""
        self.engine.start()
        lifecycle = self.services.lifecycle
        try:
            async with collected_when_idle(lambda: lifecycle.num_active == 0):
                yield
        finally:
            await self.engine.shutdown()
            self.services.compiler.close()


def load_server(
    model_folder: Path,
    engine_config: EngineConfig,
    server_config: ServerConfig,
    process_config: EngineProcessConfig,
    *,
    announce: Callable[[str], None],
) -> LoadedServer:
    """Load everything that serving a model needs; nothing is served yet.

    Args:
        model_folder: an ordinary Hugging Face folder.
        engine_config: the engine's options.
        server_config: the server's options.
        process_config: whether the engine lives in a process of its own.
        announce: told of each stage that takes time, one sentence.

    Raises:
        StartupError: the model, its tokenizer or chat template, or the grammar backend is unusable.
        EngineError: the engine refuses the model or an option.
    """
    names = server_config.served_names or (model_folder.name,)
    aliases = tuple(_alias(given, names) for given in server_config.model_alias)
    engine: RunningEngine
    compiler: Compiler
    if process_config.engine_process:
        engine, tokenizer = asyncio.run(
            _launch_engine(model_folder, engine_config, server_config, process_config, announce)
        )
        compiler = engine
        vocabulary = make_vocabulary(tokenizer, engine.info)
    else:
        backend = load_backend(
            model_folder,
            engine_config,
            grammar_backend=server_config.grammar_backend,
            grammar_cache_bytes=server_config.grammar_cache_bytes,
            announce=announce,
        )
        backend.prepare_grammars()
        engine = backend.engine
        tokenizer = backend.tokenizer
        vocabulary = backend.vocabulary
        compiler = GrammarCompiler(
            backend.compile_spec,
            max_concurrent=server_config.max_concurrent_compiles,
            max_waiting=server_config.max_waiting_requests,
            warm_actions=server_config.warm_actions,
            cache=backend.grammar_cache,
            automata=backend.automata,
        )
    announce(f"Engine: {_facts(engine)}")
    try:
        template = ChatTemplate(tokenizer)
    except ValueError as error:
        raise StartupError(f"{model_folder.name} cannot be served: {error}") from error
    model = _served_model(names, aliases, engine, vocabulary, server_config)
    services = Services(
        config=server_config,
        model=model,
        prompts=PromptBuilder(
            template,
            tokenizer.backend_tokenizer.to_str(),
            max_model_len=engine.max_model_len,
            tool_format=server_config.tool_format,
        ),
        vocabulary=vocabulary,
        compiler=compiler,
        engine=engine,
        metrics=Metrics(model.names[0]),
    )
    return LoadedServer(services, engine)


async def _launch_engine(
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


def _facts(engine: RunningEngine) -> str:
    """What the options and the machine came to, for a person."""
    info = engine.info
    quantized = "" if info.quantization == "none" else f", weights in {info.quantization}"
    return (
        f"{info.num_parameters / 1e6:,.0f} million parameters in {info.dtype}{quantized} "
        f"({info.num_weight_bytes / 1e6:,.0f} MB) on {info.device}, "
        f"up to {engine.max_model_len} tokens of prompt and answer together"
    )


def _served_model(
    names: tuple[str, ...],
    aliases: tuple[str, ...],
    engine: RunningEngine,
    vocabulary: Vocabulary,
    config: ServerConfig,
) -> ServedModel:
    facts = (installed_version(), vocabulary.digest, engine.info, config.grammar_backend)
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()
    return ServedModel(
        names=names,
        created=int(time.time()),
        max_model_len=engine.max_model_len,
        fingerprint=f"fp_{digest[:12]}",
        aliases=aliases,
        info=engine.info,
    )


def _alias(given: str, names: tuple[str, ...]) -> str:
    """The alias of `ALIAS=NAME`; told before the slow part if the name is not served."""
    alias, _, target = given.partition("=")
    if target not in names:
        raise StartupError(
            f"--model-alias {given}: no model {target!r} is served; use one of: {', '.join(names)}"
        )
    return alias
