"""The llguidance backend (declared by experiments with llguidance 1.9.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grammars.backends.base import check_property_order, import_library, padded_token_bytes
from grammars.backends.patterns import choice_regex, plain_regex, search_regex
from grammars.backends.peer_matcher import PeerMatcher
from grammars.backends.schema_support import SchemaSupport
from grammars.backends.schema_walk import with_patterns
from grammars.errors import BackendError, UnsupportedError
from grammars.spec import Cfg, Choice, JsonObject, JsonSchema, LimitedBlock, Regex, Structure

if TYPE_CHECKING:
    from grammars.protocol import Bitmask
    from grammars.spec import GrammarSpec, Whitespace
    from grammars.vocabulary import Vocabulary

_SUPPORT: Final = SchemaSupport(
    backend="llguidance",
    keywords=frozenset(
        {
            "$ref", "type", "enum", "const", "allOf", "anyOf", "oneOf", "properties", "required",
            "additionalProperties", "patternProperties", "items", "prefixItems", "additionalItems",
            "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
            "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
        }
    ),
    formats=frozenset({"duration", "email", "ipv4", "ipv6", "uri", "uuid"}),
    control_characters=False,
)  # fmt: skip

_SEPARATORS: Final[dict[Whitespace, dict[str, str]]] = {  # regexes in llguidance
    "compact": {"item_separator": ",", "key_separator": ":"},
    "single": {"item_separator": ", ?", "key_separator": ": ?"},
}

# Without \u: it would let a declared key come again as an additional one, spelled with an escape.
_ESCAPES: Final = '"\\bfnrt'

_BYTES_PER_GRAMMAR: Final = 1 << 20


class LLGuidanceBackend:
    """Compiles with llguidance."""

    name = "llguidance"

    def __init__(self) -> None:
        self._library: Any = import_library("llguidance", "llguidance")

    def compile(self, spec: GrammarSpec, vocabulary: Vocabulary) -> LLGuidanceGrammar:
        check_property_order(spec, self.name)
        return self.compile_text(_grammar_text(spec, self._library.LLMatcher), vocabulary)

    def compile_text(self, grammar: str, vocabulary: Vocabulary) -> LLGuidanceGrammar:
        """Compile a grammar as the library takes it; nothing says that all of it is enforced.

        Raises:
            BackendError: the library refuses it.
        """
        tokenizer = vocabulary.derive(_tokenizer)
        prototype = self._library.LLMatcher(tokenizer, grammar, log_level=0)
        if prototype.is_error():
            raise BackendError(f"llguidance refuses the grammar: {prototype.get_error()}")
        return LLGuidanceGrammar(prototype, vocabulary)


def _grammar_text(spec: GrammarSpec, formats: Any) -> str:  # noqa: ANN401 - llguidance's LLMatcher
    match spec:
        case JsonSchema(text=text, whitespace=whitespace):
            schema = with_patterns(text, _SUPPORT.check(text), search_regex)
            return _schema_grammar(schema, whitespace, formats)
        case JsonObject(whitespace=whitespace):
            return _schema_grammar('{"type": "object"}', whitespace, formats)
        case Regex(pattern=pattern):
            return str(formats.grammar_from_regex(plain_regex(pattern)))
        case Choice(options=options):
            return str(formats.grammar_from_regex(choice_regex(options)))
        case Cfg():
            raise UnsupportedError(
                "grammars are not enforced by the llguidance backend; use the tightrope backend"
            )
        case Structure() | LimitedBlock():
            raise UnsupportedError(
                "structures are not enforced by the llguidance backend; use the tightrope backend"
            )


def _schema_grammar(schema: str, whitespace: Whitespace, formats: Any) -> str:  # noqa: ANN401
    overrides = {
        "whitespace_flexible": False,
        "json_allowed_escapes": _ESCAPES,
        **_SEPARATORS[whitespace],
    }
    return str(formats.grammar_from_json_schema(schema, overrides=overrides))


class _TokenizerSource:
    """What llguidance's TokenizerWrapper asks of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.eos_token_id = vocabulary.end_token_ids[0]
        self.tokens = padded_token_bytes(vocabulary, vocabulary.padded_size)
        self.special_token_ids = [index for index, data in enumerate(self.tokens) if not data]
        self._encode = vocabulary.encode

    def __call__(self, data: bytes | str) -> list[int]:
        return self._encode(data if isinstance(data, bytes) else data.encode())


def _tokenizer(vocabulary: Vocabulary) -> Any:  # noqa: ANN401 - llguidance's LLTokenizer
    llguidance: Any = import_library("llguidance", "llguidance")
    return llguidance.LLTokenizer(
        llguidance.TokenizerWrapper(_TokenizerSource(vocabulary)),
        n_vocab=vocabulary.padded_size,
        eos_token=list(vocabulary.end_token_ids),
    )


class LLGuidanceGrammar:
    """A grammar compiled by llguidance: a matcher at the start, which is copied."""

    def __init__(self, prototype: Any, vocabulary: Vocabulary) -> None:  # noqa: ANN401
        self._prototype = prototype
        self._vocabulary = vocabulary

    def matcher(self) -> PeerMatcher:
        return PeerMatcher(_State(self._prototype.deep_copy()), self._vocabulary)

    @property
    def memory_bytes(self) -> int:
        """A flat estimate, on the high side: the library does not tell."""
        return _BYTES_PER_GRAMMAR


class _State:
    def __init__(self, matcher: Any) -> None:  # noqa: ANN401 - llguidance's LLMatcher
        self._matcher = matcher

    def fill(self, row: Bitmask) -> None:
        self._matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)
        if self._matcher.is_error():
            raise BackendError(f"llguidance failed: {self._matcher.get_error()}")

    def advance(self, token_id: int) -> bool:
        return bool(self._matcher.try_consume_tokens([token_id]) == 1)

    def rollback(self, num_tokens: int) -> None:
        self._matcher.rollback(num_tokens)

    def forced_bytes(self) -> bytes:
        return bytes(self._matcher.compute_ff_bytes())

    @property
    def is_complete(self) -> bool:
        return bool(self._matcher.is_accepting())

    @property
    def can_extend(self) -> bool:
        return not self._matcher.is_stopped()
