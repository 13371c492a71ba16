"""Services: the parts that the routes work with, joined once in `server.app`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from server.lifecycle import Lifecycle
from server.tracing import NoTracing

if TYPE_CHECKING:
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
    """

    names: tuple[str, ...]
    created: int
    max_model_len: int
    fingerprint: str


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
