"""What references mean: identifiers, anchors, dynamic scopes, dialects, metaschemas."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from grammars.schema import resources
from grammars.spec import Embed, JsonSchema
from tests.support.grammar_texts import TextJudge

if TYPE_CHECKING:
    from grammars.schema.document import Json

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_04 = "http://json-schema.org/draft-04/schema#"
CORE_2020 = "https://json-schema.org/draft/2020-12/meta/core"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"

# A list of anything, and lists made of it that say of what: the book example of a dynamic scope.
LISTS = {
    "anyOf": [
        {"properties": {"numbers": {"$ref": "numbers"}}, "required": ["numbers"]},
        {"properties": {"texts": {"$ref": "texts"}}, "required": ["texts"]},
    ],
    "$defs": {
        "list": {
            "$id": "list",
            "items": {"$dynamicRef": "#item"},
            "type": "array",
            "$defs": {"any": {"$dynamicAnchor": "item"}},
        },
        "numbers": {
            "$id": "numbers",
            "$ref": "list",
            "$defs": {"n": {"$dynamicAnchor": "item", "type": "integer"}},
        },
        "texts": {
            "$id": "texts",
            "$ref": "list",
            "$defs": {"t": {"$dynamicAnchor": "item", "type": "string"}},
        },
    },
    "$id": "http://a.test/root",
    "type": "object",
}

# A tree, and one whose nodes take no other keys at any depth (2019-09's way to extend).
TREE = {
    "$schema": DRAFT_2019,
    "$id": "http://a.test/strict",
    "$recursiveAnchor": True,
    "$ref": "tree",
    "propertyNames": {"enum": ["data", "children"]},
    "$defs": {
        "tree": {
            "$id": "tree",
            "$recursiveAnchor": True,
            "type": "object",
            "properties": {"data": True, "children": {"items": {"$recursiveRef": "#"}}},
        }
    },
}


def references(definitions: dict[str, object], **schema: object) -> dict[str, object]:
    return {"$defs": definitions, **schema}


@pytest.mark.parametrize(
    ("schema", "accepts", "rejects"),
    [
        (LISTS, ['{"numbers": [1]}', '{"texts": ["a"]}'], ['{"numbers": ["a"]}', '{"texts": [1]}']),
        (TREE, ['{"children": [{"data": 1}]}'], ['{"children": [{"x": 1}]}', '{"x": 1}']),
        pytest.param(
            TREE | {"$recursiveAnchor": False},
            ['{"children": [{"x": 1}]}'],
            ['{"x": 1}'],
            id="without an anchor of its own the outer tree changes nothing inside",
        ),
        pytest.param(
            references(
                {"a": {"$id": "b/c", "$defs": {"d": {"$anchor": "e", "type": "null"}}}},
                **{"$id": "http://a.test/x/y", "$ref": "/x/b/c#e"},
            ),
            ["null"],
            ["1"],
            id="an anchor in a resource with a relative id",
        ),
        pytest.param(
            references({"a": {"$id": "urn:test:a", "type": "null"}}, **{"$ref": "urn:test:a"}),
            ["null"],
            ["1"],
            id="a URN",
        ),
        pytest.param(
            references({"a b%": {"type": "null"}}, **{"$ref": "#/%24defs/a%20b%25"}),
            ["null"],
            ["1"],
            id="percent-encoding in a pointer",
        ),
        pytest.param(
            references(
                {"a": {"$id": "http://b.test/", "$ref": "#/$defs/c", "$defs": {"c": False}}},
                anyOf=[{"$ref": "#/$defs/a"}, {"type": "null"}],
            ),
            ["null"],
            ["1"],
            id="$ref beside $id is read in the resource that begins there",
        ),
        pytest.param(
            {"enum": [{"$id": "#/x", "$ref": "nowhere"}], "$ref": "#/$defs/a", "$defs": {"a": {}}},
            ['{"$id": "#/x", "$ref": "nowhere"}'],
            ["{}"],
            id="identifiers and references in an enum are neither",
        ),
        pytest.param(
            references(
                {"a": {"$defs": {"b": {"$id": "http://b.test/", "items": {"type": "null"}}}}},
                **{"$ref": "#/$defs/a/$defs/b/items"},
            ),
            ["null"],
            ["1"],
            id="a pointer through another resource",
        ),
        pytest.param(
            {"$schema": DRAFT_07, "$ref": "#/definitions/a", "type": "null",
             "definitions": {"a": {"type": "integer"}}},
            ["1"],
            ["null"],
            id="draft-07 ignores what stands beside $ref",
        ),
        pytest.param(
            {"$ref": "#/definitions/a", "maximum": 1, "definitions": {"a": {"type": "integer"}}},
            ["1"],
            ["2", "null"],
            id="2020-12 does not",
        ),
        pytest.param(
            {"$schema": DRAFT_04, "id": "http://a.test/x", "$ref": "y#z",
             "definitions": {"a": {"id": "y", "definitions": {"b": {"id": "#z", "type": "null"}}}}},
            ["null"],
            ["1"],
            id="id is the identifier of draft-04",
        ),
        pytest.param(
            {"$schema": DRAFT_07, "items": {"id": "http://a.test/", "$ref": "#/definitions/a"},
             "definitions": {"a": {"type": "null"}}},
            ["[null]"],
            ["[1]"],
            id="and no keyword of draft-07",
        ),
        pytest.param(
            {"$ref": f"{DRAFT_07}/definitions/nonNegativeInteger"},
            ["0", "12"],
            ["-1", '"a"'],
            id="a definition of the metaschema of draft-07",
        ),
        pytest.param(
            {"$ref": DRAFT_07},
            ['{"type": "null"}', '{"items": [{"minLength": 1}]}', "true"],
            ['{"type": "nul"}', '{"items": [{"minLength": -1}]}', "1"],
            id="the metaschema of draft-07",
        ),
        pytest.param(
            {"properties": {"schema": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
            ['{"schema": {"$defs": {"a": {"not": {"minItems": 1}}}}}'],
            ['{"schema": {"$defs": {"a": {"not": {"minItems": -1}}}}}'],
            id="the metaschema of 2020-12, whose vocabularies meet in a dynamic scope",
        ),
        pytest.param(
            {"properties": {"schema": {"$ref": CORE_2020}}},
            ['{"schema": {"$defs": {"a": {"$defs": {"b": true}}}}}'],
            ['{"schema": {"$defs": {"a": {"$defs": {"b": 1}}}}}'],
            id="a vocabulary of 2020-12, dynamic references in it",
        ),
    ],
)  # fmt: skip
def test_a_reference_means_its_target(schema, accepts, rejects):
    judge = TextJudge(Embed(JsonSchema(json.dumps(schema))))
    assert [text for text in accepts if not judge.accepts(text)] == []
    assert [text for text in rejects if judge.accepts(text)] == []


@pytest.mark.parametrize(
    ("definitions", "accepts", "rejects"),
    [
        ({"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"enum": ["x"]}]}}, ["x"], ["y", ""]),
        ({"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"const": "x"}]},
          "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"const": "y"}]}}, ["x", "y"], ["z"]),
        ({"a": {"anyOf": [{"const": "x"}, {"anyOf": [{"$ref": "#/$defs/b"}, {"const": "w"}]}]},
          "b": {"anyOf": [{"const": "y"}, {"$ref": "#/$defs/a"}], "title": "b"}},
         ["w", "x", "y"], ["z"]),
    ],
)  # fmt: skip
def test_a_union_that_contains_itself_is_what_else_is_in_it(definitions, accepts, rejects):
    for root in definitions:
        schema = {"$ref": f"#/$defs/{root}", "$defs": definitions}
        judge = TextJudge(Embed(JsonSchema(json.dumps(schema))))
        for text in accepts:
            assert judge.accepts(json.dumps(text).encode()), (root, text)
        for text in rejects:
            assert not judge.accepts(json.dumps(text).encode()), (root, text)


def test_an_anchor_is_found_under_every_keyword_that_holds_schemas():
    schema: dict[str, Json] = {k: {"$anchor": k} for k in resources.SCHEMA_KEYWORDS}
    schema |= {k: {"a/b": {"$anchor": k}} for k in resources.SCHEMA_MAP_KEYWORDS}
    schema["allOf"] = [{"$anchor": "allOf"}]
    found = resources.Resources(schema, lambda _: None).around("").anchors
    inside = {place.pointer for place in resources.subschemas("", schema)}
    assert {place.pointer for place in found.values()} == inside
    assert len(inside) == len(schema)
