"""The outlines backend (declared by experiments with outlines-core 0.2.14).

Its index has no way from a complete text through an incomplete one to a longer one (after `1`, the
token `.` of `1.5`), so where a whole text begins another it may write fewer texts than the spec
allows, never more.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from grammars.backends.base import check_property_order, import_library
from grammars.backends.patterns import choice_regex, json_string_regex, plain_regex
from grammars.backends.peer_matcher import PeerMatcher
from grammars.backends.schema_support import BY_TYPE, SchemaSupport
from grammars.backends.schema_walk import with_patterns
from grammars.errors import BackendError, UnsupportedError
from grammars.spec import Cfg, Choice, JsonObject, JsonSchema, LimitedBlock, Regex, Structure

if TYPE_CHECKING:
    from grammars.protocol import Bitmask
    from grammars.spec import GrammarSpec, Whitespace
    from grammars.vocabulary import Vocabulary

_SUPPORT: Final = SchemaSupport(
    backend="outlines",
    keywords=frozenset(
        {
            "type", "properties", "required", "items", "minItems", "maxItems", "minLength",
            "maxLength", "pattern", "additionalProperties",
        }
    ),
    alone=frozenset({"$ref", "enum", "const", "anyOf"}),
    conflicts=(("pattern", "minLength"), ("pattern", "maxLength")),
    typed=BY_TYPE,
    closed_objects=True,
    any_values=False,
    recursion=False,
)  # fmt: skip

_WHITESPACE: Final[dict[Whitespace, str]] = {
    "compact": "",
    "single": "",  # the compact spelling: its pattern would also put spaces before ':' and ','
}

_MAX_ROLLBACK: Final = 1 << 20


class OutlinesBackend:
    """Compiles with outlines-core: schema -> regex -> index of every state and token."""

    name = "outlines"

    def __init__(self) -> None:
        self._library: Any = import_library("outlines_core", "outlines-core")

    def compile(self, spec: GrammarSpec, vocabulary: Vocabulary) -> OutlinesGrammar:
        check_property_order(spec, self.name)
        tokens = vocabulary.derive(_tokens)
        try:
            index = self._library.Index(self._regex(spec), tokens)
        except ValueError as error:
            raise BackendError(f"outlines refuses the grammar: {error}") from error
        return OutlinesGrammar(self._library, index, vocabulary)

    def _regex(self, spec: GrammarSpec) -> str:
        match spec:
            case JsonSchema(text=text, whitespace=whitespace):
                schema = with_patterns(text, _SUPPORT.check(text), json_string_regex)
                build = self._library.json_schema.build_regex_from_schema
                return str(build(schema, _WHITESPACE[whitespace]))
            case JsonObject():
                raise UnsupportedError(
                    "an open JSON object nests without end, which the outlines backend cannot "
                    "express; use the tightrope backend"
                )
            case Regex(pattern=pattern):
                return plain_regex(pattern)
            case Choice(options=options):
                return _choice_regex(options)
            case Cfg():
                raise UnsupportedError(
                    "grammars are not enforced by the outlines backend; use the tightrope backend"
                )
            case Structure() | LimitedBlock():
                raise UnsupportedError(
                    "structures are not enforced by the outlines backend; use the tightrope backend"
                )


def _choice_regex(options: tuple[str, ...]) -> str:
    ordered = sorted(options)
    for shorter, longer in pairwise(ordered):
        if longer.startswith(shorter) and longer != shorter:
            raise UnsupportedError(
                f"the choice {shorter!r} begins the choice {longer!r}, which the outlines backend "
                "could not write; use the tightrope backend"
            )
    return choice_regex(ordered)


def _tokens(vocabulary: Vocabulary) -> Any:  # noqa: ANN401 - outlines-core's Vocabulary
    outlines_core: Any = import_library("outlines_core", "outlines-core")
    ids_of: dict[bytes, list[int]] = {}
    for token_id, data in vocabulary.token_bytes.items():
        ids_of.setdefault(data, []).append(token_id)
    return outlines_core.Vocabulary(vocabulary.end_token_ids[0], ids_of)


class OutlinesGrammar:
    """An index compiled by outlines-core."""

    def __init__(self, library: Any, index: Any, vocabulary: Vocabulary) -> None:  # noqa: ANN401
        self._library = library
        self._index = index
        self._vocabulary = vocabulary

    def matcher(self) -> PeerMatcher:
        guide = self._library.Guide(self._index, max_rollback=_MAX_ROLLBACK)
        return PeerMatcher(_State(guide, self._vocabulary), self._vocabulary)

    @property
    def memory_bytes(self) -> int:
        """The index in serialised form: the library does not tell what it takes in memory."""
        return len(self._index.__reduce__()[1][0])


class _State:
    def __init__(self, guide: Any, vocabulary: Vocabulary) -> None:  # noqa: ANN401
        self._guide = guide
        self._end_token_ids = vocabulary.end_token_ids

    def fill(self, row: Bitmask) -> None:
        self._guide.write_mask_into(row.ctypes.data, row.size, row.itemsize)
        if self._guide.is_finished():
            for token_id in self._end_token_ids[1:]:  # the library knows only one end token
                row.view("uint32")[token_id // 32] |= 1 << token_id % 32

    def advance(self, token_id: int) -> bool:
        try:
            self._guide.advance(token_id, return_tokens=False)
        except ValueError:
            return False
        return True

    def rollback(self, num_tokens: int) -> None:
        self._guide.rollback_state(num_tokens)

    def forced_bytes(self) -> bytes:
        return b""  # an index of tokens does not tell the text that must follow

    @property
    def is_complete(self) -> bool:
        return bool(self._guide.is_finished())

    @property
    def can_extend(self) -> bool:
        return len(self._guide.get_tokens()) > 1
