"""The xgrammar backend (declared by experiments with xgrammar 0.2.9)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from grammars.backends.base import check_property_order, import_library, padded_token_bytes
from grammars.backends.patterns import choice_regex, json_string_regex, plain_regex
from grammars.backends.peer_matcher import PeerMatcher
from grammars.backends.schema_support import BY_TYPE, SchemaSupport
from grammars.backends.schema_walk import with_patterns
from grammars.errors import BackendError, UnsupportedError
from grammars.spec import Cfg, Choice, JsonObject, JsonSchema, LimitedBlock, Regex, Structure

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.protocol import Bitmask
    from grammars.spec import GrammarSpec, Whitespace
    from grammars.vocabulary import Vocabulary

_SUPPORT: Final = SchemaSupport(
    backend="xgrammar",
    keywords=frozenset(
        {
            "type", "properties", "required", "additionalProperties", "items", "prefixItems",
            "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
            "exclusiveMinimum", "exclusiveMaximum",
        }
    ),
    alone=frozenset({"$ref", "enum", "const", "anyOf"}),
    conflicts=(("pattern", "minLength"), ("pattern", "maxLength")),
    typed=BY_TYPE,
    closed_objects=True,
)  # fmt: skip

_SEPARATORS: Final[dict[Whitespace, tuple[str, str]]] = {
    "compact": (",", ":"),
    "single": (", ", ": "),  # one spelling of the allowed ones: xgrammar has no optional space
}


class XGrammarBackend:
    """Compiles with xgrammar on one thread, without its cache."""

    name = "xgrammar"

    def __init__(self) -> None:
        self._library: Any = import_library("xgrammar", "xgrammar")

    def compile(self, spec: GrammarSpec, vocabulary: Vocabulary) -> XGrammarGrammar:
        check_property_order(spec, self.name)
        return self._grammar(partial(_compile, spec), vocabulary)

    def compile_text(self, grammar: str, vocabulary: Vocabulary) -> XGrammarGrammar:
        """Compile GBNF as the library takes it; nothing says that all of it is enforced.

        Some grammars that recurse through empty rules end the process (0.2.9).

        Raises:
            BackendError: the library refuses it.
        """
        return self._grammar(lambda compiler: compiler.compile_grammar(grammar), vocabulary)

    def _grammar(self, compiled: Callable[[Any], Any], vocabulary: Vocabulary) -> XGrammarGrammar:
        compiler = vocabulary.derive(_compiler)
        try:
            return XGrammarGrammar(self._library, compiled(compiler), vocabulary)
        except (RuntimeError, ValueError) as error:
            raise BackendError(f"xgrammar refuses the grammar: {error}") from error


def _compile(spec: GrammarSpec, compiler: Any) -> Any:  # noqa: ANN401 - xgrammar's objects
    match spec:
        case JsonSchema(text=text, whitespace=whitespace):
            schema = with_patterns(text, _SUPPORT.check(text), json_string_regex)
            return _compile_schema(schema, whitespace, compiler)
        case JsonObject(whitespace=whitespace):
            return _compile_schema('{"type": "object"}', whitespace, compiler)
        case Regex(pattern=pattern):
            return compiler.compile_regex(plain_regex(pattern))
        case Choice(options=options):
            return compiler.compile_regex(choice_regex(options))
        case Cfg():
            raise UnsupportedError(
                "grammars are not enforced by the xgrammar backend; use the tightrope backend"
            )
        case Structure() | LimitedBlock():
            raise UnsupportedError(
                "structures are not enforced by the xgrammar backend; use the tightrope backend"
            )


def _compile_schema(text: str, whitespace: Whitespace, compiler: Any) -> Any:  # noqa: ANN401
    return compiler.compile_json_schema(
        text, any_whitespace=False, separators=_SEPARATORS[whitespace], strict_mode=False
    )


def _compiler(vocabulary: Vocabulary) -> Any:  # noqa: ANN401 - xgrammar's object
    xgrammar: Any = import_library("xgrammar", "xgrammar")
    # b"" is never allowed; the bits past the padded size get one too, since xgrammar would set the
    # spare bits of the last word.
    tokenizer = xgrammar.TokenizerInfo(
        padded_token_bytes(vocabulary, 32 * vocabulary.num_words),
        xgrammar.VocabType.RAW,
        stop_token_ids=list(vocabulary.end_token_ids),
    )
    return xgrammar.GrammarCompiler(tokenizer, max_threads=1, cache_enabled=False)


class XGrammarGrammar:
    """A grammar compiled by xgrammar."""

    def __init__(self, library: Any, compiled: Any, vocabulary: Vocabulary) -> None:  # noqa: ANN401
        self._library = library
        self._compiled = compiled
        self._vocabulary = vocabulary

    def matcher(self) -> PeerMatcher:
        state = _State(self._library.GrammarMatcher(self._compiled), self._vocabulary)
        return PeerMatcher(state, self._vocabulary)

    @property
    def memory_bytes(self) -> int:
        return int(self._compiled.memory_size_bytes)


class _State:
    def __init__(self, matcher: Any, vocabulary: Vocabulary) -> None:  # noqa: ANN401
        self._matcher = matcher
        self._vocabulary = vocabulary

    def fill(self, row: Bitmask) -> None:
        if not self._matcher.fill_next_token_bitmask(row):
            raise BackendError(
                "xgrammar set no mask: its tokens without text must never be allowed"
            )

    def advance(self, token_id: int) -> bool:
        return bool(self._matcher.accept_token(token_id))

    def rollback(self, num_tokens: int) -> None:
        self._matcher.rollback(num_tokens)

    def forced_bytes(self) -> bytes:
        return str(self._matcher.find_jump_forward_string()).encode()

    @property
    def is_complete(self) -> bool:
        return bool(self._matcher.is_completed())

    @property
    def can_extend(self) -> bool:
        row = np.zeros(self._vocabulary.num_words, np.int32)
        self.fill(row)
        num_allowed = int(np.bitwise_count(row.view(np.uint32)).sum())
        return num_allowed > len(self._vocabulary.end_token_ids)
