"""The messages between the server's process and the engine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from grammars.cache import CacheStats
from server.engine_process.codec import CROSSING_TYPES, Codec
from server.logs import LogSettings

if TYPE_CHECKING:
    from engine.config import EngineConfig
    from engine.model_info import ModelInfo
    from engine.output import RequestOutput
    from engine.request import Request
    from engine.stats import EngineStats
    from grammars.spec import GrammarSpec


@dataclass(frozen=True, slots=True)
class Start:
    """To the engine, first: what to load.

    Args:
        model_folder: an ordinary Hugging Face folder.
        engine: the engine's options.
        grammar_backend: name of the grammar backend.
        grammar_cache_bytes: memory for compiled grammars.
        max_concurrent_compiles: grammars compiled at the same time.
        max_waiting_compiles: beyond it a compile is answered with `CompileShed`.
        warm_actions: of each grammar, expanded ahead of its texts; 0 for none.
        heartbeat_s: seconds between heartbeats.
        logs: how to log, as the server does.
    """

    model_folder: str
    engine: EngineConfig
    grammar_backend: str
    grammar_cache_bytes: int
    max_concurrent_compiles: int
    max_waiting_compiles: int
    warm_actions: int
    heartbeat_s: float
    logs: LogSettings


@dataclass(frozen=True, slots=True)
class Progress:
    """From the engine while it loads, and until it is ready for grammars: a stage begins."""

    stage: str


@dataclass(frozen=True, slots=True)
class StartFailed:
    """From the engine, its last message: it cannot serve this model.

    Args:
        reason: a sentence for the operator.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Ready:
    """From the engine: it serves.

    Args:
        info: facts about the model.
        max_model_len: tokens of prompt and output together.
        max_logprobs: likeliest tokens that a request may ask for.
        max_listed_tokens: entries of a request's lists of tokens.
        compiles: whether it compiles grammars already; if not, `GrammarsReady` will follow.
    """

    info: ModelInfo
    max_model_len: int
    max_logprobs: int
    max_listed_tokens: int
    compiles: bool = True


@dataclass(frozen=True, slots=True)
class GrammarsReady:
    """From the engine: it compiles grammars from now on."""


@dataclass(frozen=True, slots=True)
class Compile:
    """To the engine: compile a grammar and keep it until it is released.

    Args:
        grammar_id: its name from now on.
        spec: what is asked for.
        caller: who asks; callers take turns.
        request_id: of the HTTP request, for the log.
        closes: whether the fewest tokens of a whole text are wanted too.
    """

    grammar_id: int
    spec: GrammarSpec
    caller: bytes = b""
    request_id: str | None = None
    closes: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """From the engine: requests may name the grammar.

    Args:
        grammar_id: of `Compile`.
        min_tokens: the fewest tokens of a whole text; None where they were not asked for, or the
            backend cannot close texts.
        memory_bytes: what it takes now.
    """

    grammar_id: int
    min_tokens: int | None
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class CompileRefused:
    """From the engine: the grammar is refused.

    Args:
        grammar_id: of `Compile`.
        kind: the class of the `GrammarError`.
        arguments: what it is made from, see `server.engine_process.refusals`.
    """

    grammar_id: int
    kind: str
    arguments: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class CompileShed:
    """From the engine: too many compiles wait."""

    grammar_id: int


@dataclass(frozen=True, slots=True)
class CompileFailed:
    """From the engine: a fault of ours, in its log.

    Args:
        grammar_id: of `Compile`.
        reason: a sentence that a caller may read.
    """

    grammar_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class Release:
    """To the engine: the grammar is no longer needed, or no longer waited for."""

    grammar_id: int


@dataclass(frozen=True, slots=True)
class Generate:
    """To the engine: one sequence.

    Args:
        request: without a constraint.
        grammar_id: the constraint's; None: free text.
    """

    request: Request
    grammar_id: int | None


@dataclass(frozen=True, slots=True)
class Abort:
    """To the engine: nobody waits for this sequence any more."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Outputs:
    """From the engine: what one step added, to all sequences together."""

    outputs: tuple[RequestOutput, ...]
    stats: EngineStats


@dataclass(frozen=True, slots=True)
class Refused:
    """From the engine: the request could never run.

    Args:
        request_id: whose.
        parameter: the field concerned.
        reason: what is wrong and the way out.
    """

    request_id: str
    parameter: str
    reason: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """From the engine, again and again.

    Args:
        stats: of this moment; None while it loads.
        seconds_in_step: how long the step under way has taken; 0 between steps.
        grammars: what its cache of grammars has done; None while it loads.
    """

    stats: EngineStats | None
    seconds_in_step: float
    grammars: CacheStats | None = None


@dataclass(frozen=True, slots=True)
class Died:
    """From the engine: its step loop has ended; its process is about to."""

    reason: str


@dataclass(frozen=True, slots=True)
class Stop:
    """To the engine: end now."""


ToEngine: TypeAlias = Start | Compile | Release | Generate | Abort | Stop
FromEngine: TypeAlias = (
    Progress
    | StartFailed
    | Ready
    | GrammarsReady
    | Compiled
    | CompileRefused
    | CompileShed
    | CompileFailed
    | Outputs
    | Refused
    | Heartbeat
    | Died
)

CODEC: Final = Codec(
    (
        *CROSSING_TYPES,
        CacheStats,
        LogSettings,
        *(Start, Compile, Release, Generate, Abort, Stop),
        *(Progress, StartFailed, Ready, GrammarsReady),
        *(Compiled, CompileRefused, CompileShed, CompileFailed),
        *(Outputs, Refused, Heartbeat, Died),
    )
)
"""Of all messages."""
