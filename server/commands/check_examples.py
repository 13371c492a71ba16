"""Whether the examples and defaults of a schema can be written under it."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from grammars.compile import compile_grammar
from grammars.errors import GrammarError
from grammars.spec import JsonSchema
from server.commands.check_hints import Hint, HintKind
from server.commands.check_keywords import walk_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.protocol import CompiledGrammar
    from grammars.vocabulary import Vocabulary

_MAX_SCHEMAS: Final = 100
"""Schemas with examples that are looked at: each is compiled."""

_BASE: Final = "tightrope:document"
_SHOWN: Final = 60


def find_wrong_examples(schema: Any, vocabulary: Vocabulary) -> list[Hint]:  # noqa: ANN401
    """A hint for every example and default that its own schema refuses.

    Keys are put in the order of `properties` first, since only that order is written.

    Args:
        schema: parsed JSON, which compiles.
        vocabulary: the tokens to try it with.
    """
    with_examples = (
        place for place in walk_schemas(schema) if {"default", "examples"} & place.schema.keys()
    )
    hints = []
    for place in islice(with_examples, _MAX_SCHEMAS):
        try:
            grammar = compile_grammar(_spec_at(schema, place.pointer), vocabulary)
        except GrammarError:  # a schema that nothing refers to, or that nothing satisfies
            continue
        for keyword, value in _examples(place.schema):
            text = json.dumps(_in_order(value, place.schema), ensure_ascii=False)
            if not _can_write(grammar, text, vocabulary):
                shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
                message = f"{shown} in {keyword!r} cannot be written under this schema; mend either"
                hints.append(Hint(HintKind.INVALID_EXAMPLE, place.pointer, message))
    return hints


def _examples(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if "default" in schema:
        yield "default", schema["default"]
    examples = schema.get("examples")
    if isinstance(examples, list):
        yield from (("examples", value) for value in examples)


def _can_write(grammar: CompiledGrammar, text: str, vocabulary: Vocabulary) -> bool:
    matcher = grammar.matcher()
    token_ids = vocabulary.encode(text.encode())
    return all(map(matcher.accept_token, token_ids)) and matcher.is_complete


def _spec_at(root: dict[str, Any], pointer: str) -> JsonSchema:
    """The schema at a place, with the document around it that its references need."""
    identifier = "id" if "draft-04" in str(root.get("$schema")) else "$id"
    base = root.get(identifier)
    if not isinstance(base, str) or not base:
        base, root = _BASE, {identifier: _BASE} | root
    wrapper = {"$ref": f"{base.rstrip('#')}#{quote(pointer)}", "definitions": {"document": root}}
    if "$schema" in root:
        wrapper["$schema"] = root["$schema"]
    return JsonSchema.from_value(wrapper)


def _in_order(value: Any, schema: Any) -> Any:  # noqa: ANN401
    """The value with declared keys first, and whole numbers as integers, as they are written."""
    known = schema if isinstance(schema, dict) else {}
    match value:
        case dict():
            properties = known.get("properties")
            inner = properties if isinstance(properties, dict) else {}
            order = {key: index for index, key in enumerate(inner)}
            keys = sorted(value, key=lambda key: order.get(key, len(order)))
            return {key: _in_order(value[key], inner.get(key)) for key in keys}
        case list():
            return [_in_order(item, known.get("items")) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
