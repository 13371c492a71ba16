"""Engine: what MaskBench asks of a library that makes token masks; `make_engine` makes one.

Unlike `grammars.backends`, nothing stands between the library and the schema: what a library
drops in silence, or accepts wrongly, is what the benchmark counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from benchmarks.tokenizer_source import TokenizerSource

Json: TypeAlias = Any
"""Parsed JSON: a schema of the data."""


class EngineMatcher(Protocol):
    """One instance being written."""

    def compute_mask(self) -> None:
        """Make the mask of the tokens allowed next."""
        ...

    def commit_token(self, token_id: int) -> bool:
        """Advance by a token, after `compute_mask`; False where the mask does not allow it.

        After False nothing more is asked.
        """
        ...

    def can_end(self) -> bool:
        """Whether the text so far may end; asked once, after the last token, outside the clock."""
        ...


class EngineGrammar(Protocol):
    """A compiled schema.

    It may have a method `prepare`, called once after the compile and outside the clock: what a
    server does while the model reads the prompt. Only engines that say so in their name have one.
    """

    def matcher(self) -> EngineMatcher:
        """A matcher at the start of the text."""
        ...


class Engine(Protocol):
    """A library with the tables of one tokenizer, made before the clock starts."""

    def compile(self, schema: Json) -> EngineGrammar:
        """Compile a schema; any exception is a compile error of the engine."""
        ...


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """An engine that can be measured.

    Args:
        module: has `make_engine(tokenizer, mode)`.
        library: the module that must be importable.
        distribution: what pip installs.
        mode: handed to `make_engine`, for a library with several settings; "" the only one.
        about: the settings, one sentence.
    """

    module: str
    library: str
    distribution: str
    mode: str = ""
    about: str = ""

    @property
    def is_installed(self) -> bool:
        return find_spec(self.library) is not None


ENGINES: Final = MappingProxyType(
    {
        "tightrope": EngineInfo(
            "benchmarks.engines.tightrope",
            "grammars",
            "tightrope",
            about="whitespace single; no grammar cache",
        ),
        "tightrope-any-order": EngineInfo(
            "benchmarks.engines.tightrope",
            "grammars",
            "tightrope",
            mode="any-order",
            about="as tightrope, keys in any order",
        ),
        "tightrope-warm": EngineInfo(
            "benchmarks.engines.tightrope",
            "grammars",
            "tightrope",
            mode="warm",
            about="as tightrope; states are made ahead, outside the clock",
        ),
        "llguidance": EngineInfo(
            "benchmarks.engines.llguidance", "llguidance", "llguidance", about="defaults"
        ),
        "xgrammar": EngineInfo(
            "benchmarks.engines.xgrammar",
            "xgrammar",
            "xgrammar",
            mode="default",
            about="strict_mode, fixed whitespace",
        ),
        "xgrammar-compliant": EngineInfo(
            "benchmarks.engines.xgrammar",
            "xgrammar",
            "xgrammar",
            mode="compliant",
            about="not strict, any whitespace",
        ),
        "maskforge": EngineInfo(
            "benchmarks.engines.maskforge", "maskforge", "maskforge", about="defaults"
        ),
        "outlines-core": EngineInfo(
            "benchmarks.engines.outlines_core", "outlines_core", "outlines-core", about="defaults"
        ),
        "lm-format-enforcer": EngineInfo(
            "benchmarks.engines.lm_format_enforcer",
            "lmformatenforcer",
            "lm-format-enforcer",
            about="defaults",
        ),
    }
)
"""The engines by their names, in the order of the tables."""


def make_engine(info: EngineInfo, tokenizer: TokenizerSource) -> Engine:
    """An engine with its tables of the tokenizer ready."""
    engine: Engine = import_module(info.module).make_engine(tokenizer, info.mode)
    return engine
