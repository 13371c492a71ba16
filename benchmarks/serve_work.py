"""The requests of the serving benchmark: free text, documents of schemas, calls of tools."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, Literal

Kind = Literal["free", "document", "call"]

_DOCUMENTS: Final = ("flat", "nested", "strings", "arrays")
"""Schemas in `schemas/` whose documents a small model ends in reasonable time."""

_SUBJECTS: Final = (
    "a lighthouse keeper", "an order of three books", "the harbour of Lisbon", "a chess tournament",
    "a recipe with lentils", "a night train", "a small garden", "the repair of a bicycle",
)  # fmt: skip

_TOOLS: Final = (
    ("get_weather", {"city": {"type": "string", "maxLength": 30}, "unit": {"enum": ["C", "F"]}}),
    (
        "book_table",
        {
            "guests": {"type": "integer", "minimum": 1, "maximum": 20},
            "time": {"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$"},
            "outside": {"type": "boolean"},
        },
    ),
    ("convert", {"amount": {"type": "number"}, "to": {"enum": ["EUR", "USD", "JPY"]}}),
)


@dataclass(frozen=True, slots=True)
class Work:
    """One request.

    Args:
        kind: what its answer must be.
        body: of POST /v1/chat/completions, without the model and the streaming options.
        schemas: of a document under "", of a call's arguments under the function's name.
    """

    kind: Kind
    body: dict[str, Any]
    schemas: dict[str, Any]


def draw_work(
    num_requests: int, *, constrained_percent: int, max_tokens: int, seed: int
) -> list[Work]:
    """Requests in random order, the same for the same seed.

    Args:
        num_requests: how many.
        constrained_percent: how many of a hundred are constrained; half of them are tool calls.
        max_tokens: of each answer.
        seed: of subjects, kinds and order.
    """
    chance = random.Random(seed)
    num_constrained = round(num_requests * constrained_percent / 100)
    kinds: list[Kind] = ["free"] * (num_requests - num_constrained)
    kinds += ["document" if number % 2 else "call" for number in range(num_constrained)]
    chance.shuffle(kinds)
    return [_work(kind, chance, max_tokens, chance.randrange(2**31)) for kind in kinds]


def _work(kind: Kind, chance: random.Random, max_tokens: int, seed: int) -> Work:
    subject = chance.choice(_SUBJECTS)
    body: dict[str, Any] = {"max_tokens": max_tokens, "temperature": 0.7, "seed": seed}
    match kind:
        case "free":
            return Work(kind, body | _user(f"Write about {subject}."), {})
        case "document":
            name = chance.choice(_DOCUMENTS)
            schema = _schema(name)
            form = {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}
            prompt = _user(f"Describe {subject} as JSON.")
            return Work(kind, body | prompt | {"response_format": form}, {"": schema})
        case "call":
            parameters = {name: _parameters(properties) for name, properties in _TOOLS}
            tools = [
                {"type": "function", "function": {"name": name, "parameters": schema}}
                for name, schema in parameters.items()
            ]
            asked = {"tools": tools, "tool_choice": "required"}
            return Work(kind, body | _user(f"Help me with {subject}.") | asked, parameters)


def _user(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def _parameters(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(name: str) -> dict[str, Any]:
    text = (files("benchmarks") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)["schema"]
    return schema
