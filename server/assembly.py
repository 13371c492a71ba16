"""Assembly: from a model folder to services, stage by stage; the place that joins the rooms."""

from __future__ import annotations

import hashlib
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transformers import AutoTokenizer, PreTrainedTokenizerFast

from engine.async_engine import AsyncEngine
from engine.load import load_engine
from grammars.backends.base import get_backend
from grammars.cache import GrammarCache
from grammars.errors import GrammarError
from grammars.masks.warmup import warm_up
from grammars.spec import JsonObject
from grammars.vocabulary import Vocabulary
from server.chat.prompt import PromptBuilder
from server.chat.template import ChatTemplate
from server.errors import StartupError
from server.grammar_compiler import GrammarCompiler
from server.metrics import Metrics
from server.routes.health import installed_version
from server.services import ServedModel, Services

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from fastapi import FastAPI

    from engine.config import EngineConfig
    from engine.model_info import ModelInfo
    from grammars.protocol import CompiledGrammar
    from grammars.spec import GrammarSpec
    from server.config import ServerConfig


@dataclass(frozen=True, slots=True)
class LoadedServer:
    """Services, and the engine that must run while they are used."""

    services: Services
    engine: AsyncEngine

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Run the engine on this event loop; at the end, stop it and the compiler's threads."""
        self.engine.start()
        try:
            yield
        finally:
            await self.engine.shutdown()
            self.services.compiler.close()


def load_server(
    model_folder: Path,
    engine_config: EngineConfig,
    server_config: ServerConfig,
    *,
    announce: Callable[[str], None],
) -> LoadedServer:
    """Load everything that serving a model needs; the engine is not started yet.

    Args:
        model_folder: an ordinary Hugging Face folder.
        engine_config: the engine's options.
        server_config: the server's options.
        announce: told of each stage that takes time, one sentence.

    Raises:
        StartupError: the tokenizer, its chat template or the grammar backend cannot be used.
        EngineError: the engine refuses the model or an option.
    """
    announce("Loading the tokenizer")
    tokenizer = _load_tokenizer(model_folder)
    tokenizer_json = tokenizer.backend_tokenizer.to_str()
    engine = AsyncEngine(
        load_engine(model_folder, engine_config, lambda stage: announce(f"Engine: {stage}"))
    )
    announce(f"Engine: {_facts(engine)}")
    announce("Building the vocabulary and its token trie")
    try:
        vocabulary = _vocabulary(tokenizer, tokenizer_json, engine.info)
        announce("Loading the mask kernels (compiled at the first start on a machine)")
        compile_spec = _cached_compile(vocabulary, server_config)
        warm_up(vocabulary)
        compile_spec(JsonObject())
        template = ChatTemplate(tokenizer)
    except (GrammarError, ValueError) as error:
        raise StartupError(f"{model_folder.name} cannot be served: {error}") from error
    services = Services(
        config=server_config,
        model=_served_model(model_folder, engine, vocabulary, server_config),
        prompts=PromptBuilder(
            template,
            tokenizer_json,
            max_model_len=engine.max_model_len,
            tool_format=server_config.tool_format,
        ),
        vocabulary=vocabulary,
        compiler=GrammarCompiler(
            compile_spec,
            max_concurrent=server_config.max_concurrent_compiles,
            max_waiting=server_config.max_waiting_requests,
        ),
        engine=engine,
        metrics=Metrics(),
    )
    return LoadedServer(services, engine)


def _facts(engine: AsyncEngine) -> str:
    """What the options and the machine came to, for a person."""
    info = engine.info
    return (
        f"{info.num_parameters / 1e6:,.0f} million parameters in {info.dtype} on {info.device}, "
        f"up to {engine.max_model_len} tokens of prompt and answer together"
    )


def _load_tokenizer(model_folder: Path) -> PreTrainedTokenizerFast:
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            model_folder, trust_remote_code=False, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise StartupError(f"{model_folder.name} has no usable tokenizer: {error}") from error
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise StartupError(f"{model_folder.name} has no tokenizer.json; convert its tokenizer")
    return tokenizer


def _vocabulary(
    tokenizer: PreTrainedTokenizerFast, tokenizer_json: str, info: ModelInfo
) -> Vocabulary:
    end_token_ids = set(info.eos_token_ids)
    if tokenizer.eos_token_id is not None:
        end_token_ids.add(tokenizer.eos_token_id)
    return Vocabulary(
        tokenizer_json.encode(), padded_size=info.padded_vocab_size, end_token_ids=end_token_ids
    )


def _cached_compile(
    vocabulary: Vocabulary, config: ServerConfig
) -> Callable[[GrammarSpec], CompiledGrammar]:
    backend = get_backend(config.grammar_backend)
    cache = GrammarCache(config.grammar_cache_bytes)
    return lambda spec: cache.get(spec, vocabulary, backend)


def _served_model(
    model_folder: Path, engine: AsyncEngine, vocabulary: Vocabulary, config: ServerConfig
) -> ServedModel:
    facts = (installed_version(), vocabulary.digest, engine.info, config.grammar_backend)
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()
    return ServedModel(
        names=config.served_names or (model_folder.name,),
        created=int(time.time()),
        max_model_len=engine.max_model_len,
        fingerprint=f"fp_{digest[:12]}",
    )
