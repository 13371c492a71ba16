"""Services: the parts that the routes work with, put together once, in `server.assembly`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from server.lifecycle import Lifecycle
from server.tracing import NoTracing

if TYPE_CHECKING:
    from engine.model_info import ModelInfo
    from grammars.vocabulary import Vocabulary
    from server.chat.prompt import PromptBuilder
    from server.config import ServerConfig
    from server.engine_client import EngineClient
    from server.grammar_compiler import Compiler
    from server.metrics import Metrics
    from server.tracing import Tracing


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The model behind the API.

    Args:
        names: what requests may call it; the first stands in answers.
        created: Unix time in seconds when it was loaded.
        max_model_len: tokens of prompt and answer together.
        fingerprint: changes when the model, the version or the configuration does.
        aliases: further names that requests may use; `*` in one stands for any characters.
        info: what the engine knows of it; None: nothing, as with engines of tests.
    """

    names: tuple[str, ...]
    created: int
    max_model_len: int
    fingerprint: str
    aliases: tuple[str, ...] = ()
    info: ModelInfo | None = None

    def is_called(self, name: str) -> bool:
        """Whether requests may use this name."""
        return name in self.names or any(_fits(name, alias) for alias in self.aliases)


def _fits(name: str, alias: str) -> bool:
    """Whether a name is the alias, `*` in it being any text; linear, for names of any length."""
    first, *rest = alias.split("*")
    if not rest:
        return name == first
    *middle, last = rest
    position = len(first) if name.startswith(first) else -1
    for part in middle:
        found = name.find(part, position) if position >= 0 else -1
        position = found + len(part) if found >= 0 else -1
    return 0 <= position <= len(name) - len(last) and name.endswith(last)


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that a request needs."""

    config: ServerConfig
    model: ServedModel
    prompts: PromptBuilder
    vocabulary: Vocabulary
    compiler: Compiler
    engine: EngineClient
    metrics: Metrics
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    tracing: Tracing = field(default_factory=NoTracing)
