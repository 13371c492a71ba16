"""case_compiler: how a backend compiles a case of the mask benchmark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.mask_cases import MaskCase
from grammars.backends.base import get_backend
from grammars.backends.llguidance import LLGuidanceBackend
from grammars.backends.xgrammar import XGrammarBackend
from grammars.spec import Cfg, JsonSchema

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.cfg_cases import CfgCase
    from grammars.protocol import CompiledGrammar
    from grammars.spec import Whitespace
    from grammars.vocabulary import Vocabulary


def case_compiler(
    backend_name: str, case: MaskCase | CfgCase, whitespace: Whitespace
) -> Callable[[Vocabulary], CompiledGrammar]:
    """A function that compiles the case anew.

    A schema goes through the backend. A context-free grammar goes to the library itself in the
    syntax that it reads (Lark for llguidance, GBNF for xgrammar), which the backends refuse, since
    they cannot say for any grammar that it is enforced.

    Args:
        backend_name: as `get_backend` takes it.
        case: what to compile.
        whitespace: of a schema's spec.
    """
    backend = get_backend(backend_name)
    if isinstance(case, MaskCase):
        return partial(backend.compile, JsonSchema(case.schema, whitespace))
    if isinstance(backend, LLGuidanceBackend) and case.syntax == "lark":
        return partial(backend.compile_text, case.grammar)
    if isinstance(backend, XGrammarBackend) and case.syntax == "gbnf":
        return partial(backend.compile_text, case.grammar)
    return partial(backend.compile, Cfg(case.syntax, case.grammar))
