"""GrammarBackend: a compiler of grammar specs; `get_backend` finds one by its name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

from grammars.errors import BackendError, UnsupportedError
from grammars.spec import JsonObject, JsonSchema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from grammars.protocol import CompiledGrammar
    from grammars.spec import GrammarSpec
    from grammars.vocabulary import Vocabulary


class GrammarBackend(Protocol):
    """A compiler of specs; what it would not enforce whole it refuses by name, never widens."""

    @property
    def name(self) -> str:
        """The name that `get_backend` knows it by."""
        ...

    def compile(self, spec: GrammarSpec, vocabulary: Vocabulary) -> CompiledGrammar:
        """Compile a spec for a vocabulary; only the vocabulary's own tables are kept between calls.

        Raises:
            UnsupportedError: a keyword or construct is not enforced by this backend; has its place.
            GrammarError: the spec is malformed, unsatisfiable or over a limit.
        """
        ...


_CLASSES: Final[Mapping[str, tuple[str, str]]] = {
    "tightrope": ("grammars.backends.tightrope", "TightropeBackend"),
    "xgrammar": ("grammars.backends.xgrammar", "XGrammarBackend"),
    "outlines": ("grammars.backends.outlines", "OutlinesBackend"),
    "llguidance": ("grammars.backends.llguidance", "LLGuidanceBackend"),
    "fsm-reference": ("grammars.backends.fsm_reference", "FsmReferenceBackend"),
}

BACKEND_NAMES: Final = tuple(_CLASSES)
"""The backends' names, the default first."""


def get_backend(name: str = "tightrope") -> GrammarBackend:
    """A new backend of this name.

    Raises:
        BackendError: there is no backend of this name, or its library is not installed.
    """
    if name not in _CLASSES:
        raise BackendError(f"no grammar backend {name!r}; there are {', '.join(BACKEND_NAMES)}")
    module, class_name = _CLASSES[name]
    backend: GrammarBackend = getattr(import_module(module), class_name)()
    return backend


def check_property_order(spec: GrammarSpec, backend: str) -> None:
    """Refuse keys in any order: only our own compiler writes each of them once.

    Raises:
        UnsupportedError: the spec asks for that.
    """
    if isinstance(spec, (JsonSchema, JsonObject)) and spec.property_order != "schema":
        raise UnsupportedError(
            f"property_order {spec.property_order!r} is not enforced by the {backend} backend; "
            "use the tightrope backend"
        )


def import_library(module: str, distribution: str) -> ModuleType:
    """A peer's library.

    Raises:
        BackendError: it is not installed; the message has the pip line that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise BackendError(
            f"this grammar backend needs {distribution}: pip install {distribution}"
        ) from error


def padded_token_bytes(vocabulary: Vocabulary, size: int) -> list[bytes]:
    """Token id -> bytes, `size` long; b"" for control, end and padding ids, which are no text."""
    tokens = [b""] * size
    for token_id, data in vocabulary.token_bytes.items():
        tokens[token_id] = data
    return tokens
