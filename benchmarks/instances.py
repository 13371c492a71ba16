"""Random valid documents of the benchmark's own schemas, from a seeded generator.

Keys come in the order of the schema. A string with a pattern is one of the schema's `examples`.
"""

from __future__ import annotations

import random
from typing import Any, Final

_WORDS: Final = (
    "river", "quiet", "lantern", "walks", "across", "the", "old", "stone", "bridge", "while",
    "seven", "grey", "birds", "wait", "below", "and", "nobody", "asks", "why", "Zürich", "café",
    "naïve", "東京", "пример", "🙂", '"quoted"', "back\\slash", "3.14", "A-1",
)  # fmt: skip
_MAX_DEPTH: Final = 4
_OPTIONAL_SHARE: Final = 0.4

Json = Any
"""Parsed JSON; the schemas are our own files."""


class InstanceGenerator:
    """Draws documents that are valid under one schema.

    Args:
        schema: uses only what the files in `schemas/` use.
        seed: equal seeds draw equal documents.
    """

    def __init__(self, schema: dict[str, Json], seed: int) -> None:
        self._root = schema
        self._random = random.Random(seed)

    def draw(self) -> Json:
        """One valid document."""
        return self._value(self._root, 0)

    def _value(self, schema: dict[str, Json], depth: int) -> Json:
        if "$ref" in schema:
            return self._value(self._resolve(schema["$ref"]), depth)
        if "const" in schema:
            return schema["const"]
        for name in ("enum", "examples"):
            if name in schema:
                return self._random.choice(schema[name])
        if "anyOf" in schema:
            return self._value(self._random.choice(schema["anyOf"]), depth)
        kind = schema.get("type", ["string", "integer", "boolean", "null", "array", "object"])
        return self._typed(
            kind if isinstance(kind, str) else self._random.choice(kind), schema, depth
        )

    def _typed(self, kind: str, schema: dict[str, Json], depth: int) -> Json:
        draw = self._random
        match kind:
            case "null":
                return None
            case "boolean":
                return draw.random() < 0.5
            case "integer":
                low = schema.get("minimum", -1000)
                return draw.randint(low, schema.get("maximum", max(low, 0) + 100_000))
            case "number":
                return round(draw.uniform(-1000, 1000), draw.randint(0, 4))
            case "string":
                return self._string(schema.get("minLength", 0), schema.get("maxLength", 60))
            case "array":
                return self._array(schema, depth)
            case "object":
                return self._object(schema, depth)
            case _:
                raise ValueError(f"no generator for type {kind!r}")

    def _string(self, minimum: int, maximum: int) -> str:
        wanted = self._random.randint(minimum, maximum)
        text = ""
        while len(text) < wanted:
            text += self._random.choice(_WORDS) + " "
        return text[:wanted]

    def _array(self, schema: dict[str, Json], depth: int) -> list[Json]:
        prefix = schema.get("prefixItems", [])
        items = schema.get("items", {})
        low = schema.get("minItems", 0)
        high = len(prefix) if items is False else schema.get("maxItems", low + 3)
        length = low if depth >= _MAX_DEPTH else self._random.randint(low, high)
        parts = [*prefix[:length], *[items] * (length - len(prefix))]
        return [self._value(part, depth + 1) for part in parts]

    def _object(self, schema: dict[str, Json], depth: int) -> dict[str, Json]:
        required = schema.get("required", [])
        drawn = {
            key: self._value(part, depth + 1)
            for key, part in schema.get("properties", {}).items()
            if key in required or self._random.random() < _OPTIONAL_SHARE
        }
        if schema.get("additionalProperties", True) is not False and depth < _MAX_DEPTH:
            for number in range(self._random.randint(0, 3)):
                drawn[f"extra_{number}"] = self._value({}, depth + 1)
        return drawn

    def _resolve(self, reference: str) -> dict[str, Json]:
        target = self._root
        for token in reference.split("/")[1:]:
            target = target[token]
        return target
