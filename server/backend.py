"""Backend: the engine, the vocabulary and the grammar compiler, loaded in whichever process."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine import kernel_list as engine_kernels
from engine.async_engine import AsyncEngine
from grammars import kernel_list as grammar_kernels
from grammars.backends.base import get_backend
from grammars.cache import GrammarCache
from grammars.errors import GrammarError
from grammars.masks.warmup import warm_up
from grammars.spec import JsonObject
from server.device_automata import DeviceAutomata
from server.errors import StartupError
from server.kernels.precompile import compiling_kernels
from server.kernels.table import KERNELS
from server.quiet import quiet_transformers
from server.tokenizer import load_tokenizer, make_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from transformers import PreTrainedTokenizerFast

    from engine.config import EngineConfig
    from grammars.protocol import CompiledGrammar
    from grammars.spec import GrammarSpec
    from grammars.vocabulary import Vocabulary
    from server.kernels.precompile import Wait


@dataclass(frozen=True, slots=True)
class Backend:
    """What generates.

    Args:
        engine: loaded, not started.
        tokenizer: the model's.
        vocabulary: of the model's tokenizer.
        compile_spec: compiles a grammar or finds it in the cache; thread-safe.
        grammar_cache: that cache.
        automata: for grammars that the engine's device follows; None where it follows none.
        prepare_grammars: to be called, once, before `compile_spec`. At the first start on a machine
            it waits half a minute for kernels, else a second. Raises StartupError: the grammar
            backend cannot be used with this vocabulary.
    """

    engine: AsyncEngine
    tokenizer: PreTrainedTokenizerFast
    vocabulary: Vocabulary
    compile_spec: Callable[[GrammarSpec], CompiledGrammar]
    grammar_cache: GrammarCache
    automata: DeviceAutomata | None
    prepare_grammars: Callable[[], None]


def load_backend(
    model_folder: Path,
    engine_config: EngineConfig,
    *,
    grammar_backend: str,
    grammar_cache_bytes: int,
    announce: Callable[[str], None],
) -> Backend:
    """Load a model, and everything that constrains it but `Backend.prepare_grammars`.

    Args:
        model_folder: an ordinary Hugging Face folder.
        engine_config: the engine's options.
        grammar_backend: name of the grammar backend.
        grammar_cache_bytes: memory for compiled grammars.
        announce: told of each stage that takes time, one sentence.

    Raises:
        StartupError: the tokenizer or the grammar backend cannot be used.
        EngineError: the engine refuses the model or an option.
    """
    with ExitStack() as stack:
        wait_for_kernels = stack.enter_context(
            compiling_kernels(KERNELS, announce, giving_way=grammar_kernels.KERNELS)
        )
        tokenizer, engine = _load_model(model_folder, engine_config, wait_for_kernels, announce)
        announce("Building the vocabulary")
        vocabulary = make_vocabulary(tokenizer, engine.info)
        with _refusing(model_folder):
            backend = get_backend(grammar_backend)
        compiling = stack.pop_all()

    def prepare_grammars() -> None:
        announce("Preparing grammars (at the first start on a machine their kernels are compiled)")
        with compiling:
            wait_for_kernels(KERNELS)
        with _refusing(model_folder):
            warm_up(vocabulary, lambda kernel: announce(f"Compiling the kernel {kernel}"))
            backend.compile(JsonObject(), vocabulary)

    cache = GrammarCache(grammar_cache_bytes)
    follows = engine_config.max_burst_steps > 1
    return Backend(
        engine,
        tokenizer,
        vocabulary,
        lambda spec: cache.get(spec, vocabulary, backend),
        cache,
        DeviceAutomata(engine_config.automata_bytes) if follows else None,
        prepare_grammars,
    )


def _load_model(
    model_folder: Path,
    engine_config: EngineConfig,
    wait_for_kernels: Wait,
    announce: Callable[[str], None],
) -> tuple[PreTrainedTokenizerFast, AsyncEngine]:
    # Here, because it takes seconds (torch, transformers), in which the kernels are compiled.
    from engine.load import load_engine

    quiet_transformers()
    tokenizer = load_tokenizer(model_folder)
    wait_for_kernels(engine_kernels.KERNELS)  # the engine's self-test would compile them once more
    engine = load_engine(
        model_folder, engine_config, lambda stage: announce(f"Loading the engine: {stage}")
    )
    return tokenizer, AsyncEngine(engine)


@contextmanager
def _refusing(model_folder: Path) -> Iterator[None]:
    """What the grammar backend refuses here ends the start, with the model's name."""
    try:
        yield
    except (GrammarError, ValueError) as error:
        raise StartupError(f"{model_folder.name} cannot be served: {error}") from error
