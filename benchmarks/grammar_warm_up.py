"""Schemas that an engine compiles and writes before its clock starts.

They reach what is built once for a process or a vocabulary: code compiled or loaded when it is
first called, tables of tokens, memory.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Final

from benchmarks.clock import Clock
from benchmarks.grammar_measure import Document, Job, measure
from benchmarks.grammar_outcome import Measured

if TYPE_CHECKING:
    from benchmarks.engines.base import Engine, Json
    from grammars.vocabulary import Vocabulary

_PLAIN: Final = (
    {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "integer"}},
            "b": {"type": "string", "maxLength": 9},
            "c": {"type": "string"},
            "d": {"type": "number"},
            "e": {"type": "boolean"},
        },
        "required": ["a", "b", "c", "d", "e"],
        "additionalProperties": False,
    },
    {"a": [1, 22], "b": "xyz", "c": "x y", "d": -1.5, "e": True},
)
"""What no engine may refuse."""

_MORE: Final[tuple[tuple[Json, Json], ...]] = (
    ({"type": "object"}, {"a": [{"b": None}], "c": "\n é 🙂"}),
    ({"enum": ["red", "green", 1, None]}, "green"),
    ({"type": "string", "pattern": "^[a-z]+-\\d{2,4}$", "maxLength": 20}, "abc-123"),
    ({"type": "string", "format": "date-time"}, "2020-02-29T10:00:00Z"),
    ({"type": "integer", "minimum": -5, "maximum": 1200, "multipleOf": 3}, 999),
    ({"type": "array", "items": {"type": "number", "minimum": 0.5}, "minItems": 1}, [0.5, 7]),
    ({"anyOf": [{"type": "string"}, {"type": "object", "required": ["k"]}]}, {"k": 1}),
    (
        {
            "type": "object",
            "properties": {"kind": {"const": "x"}},
            "patternProperties": {"^n_": {"type": "integer"}},
            "additionalProperties": {"type": "string"},
        },
        {"kind": "x", "n_1": 2, "other": "text"},
    ),
    ({"$defs": {"n": {"type": ["array", "null"], "items": {"$ref": "#/$defs/n"}}},
      "$ref": "#/$defs/n"}, [[None], []]),
    ({"not": {"type": "string", "minLength": 3}}, "ab"),
)  # fmt: skip
"""What an engine may refuse."""

_MORE_S: Final = 5.0
"""CPU seconds after which no other of these is begun: a slow engine is ready without them."""


class WarmUpError(Exception):
    """An engine refused a schema that every engine must support; `str()` has its reason."""


def warm_up(engine: Engine, vocabulary: Vocabulary) -> None:
    """Compile and write the schemas.

    Raises:
        WarmUpError: the plain one was refused.
    """
    refusal = _write(engine, vocabulary, *_PLAIN)
    if refusal is not None:
        raise WarmUpError(f"the plain schema of the warm-up was refused: {refusal}")
    end = time.process_time() + _MORE_S
    for case in _MORE:
        if time.process_time() < end:
            _write(engine, vocabulary, *case)


def _write(engine: Engine, vocabulary: Vocabulary, schema: Json, value: Json) -> str | None:
    """Why the schema was refused, if it was."""
    token_ids = vocabulary.encode(json.dumps(value, ensure_ascii=False).encode())
    outcome = measure(engine, Job(schema, (Document(tuple(token_ids), is_valid=True),)), Clock.WALL)
    return None if isinstance(outcome, Measured) else outcome.reason
