"""Assembly: from a model folder to services, stage by stage; the place that joins the rooms."""

from __future__ import annotations

import hashlib
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.chat.loading import load_prompts
from server.chat.metered.budget import RenderLimits
from server.collector import collected_when_idle
from server.errors import StartupError
from server.loaded_engine import load_engine
from server.metrics import Metrics
from server.routes.health import installed_version
from server.services import ServedModel, Services

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from fastapi import FastAPI

    from engine.config import EngineConfig
    from grammars.vocabulary import Vocabulary
    from server.config import ServerConfig
    from server.engine_process.settings import EngineProcessConfig
    from server.loaded_engine import RunningEngine


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
    loaded = load_engine(model_folder, engine_config, server_config, process_config, announce)
    engine = loaded.engine
    announce(f"Engine: {_facts(engine)}")
    prompts = load_prompts(
        model_folder.name,
        loaded.tokenizer,
        RenderLimits.of(server_config),
        max_model_len=engine.max_model_len,
        tool_format=server_config.tool_format,
    )
    model = _served_model(names, aliases, engine, loaded.vocabulary, server_config)
    services = Services(
        config=server_config,
        model=model,
        prompts=prompts,
        vocabulary=loaded.vocabulary,
        compiler=loaded.compiler,
        engine=engine,
        metrics=Metrics(model.names[0]),
    )
    return LoadedServer(services, engine)


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
