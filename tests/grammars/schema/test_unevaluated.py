"""`unevaluated*` beside branches: what is evaluated depends on the document."""

from __future__ import annotations

import json
import random

import jsonschema
import pytest

from grammars.errors import LimitExceededError, UnsatisfiableError
from grammars.spec import Embed, JsonSchema
from tests.support.grammar_texts import TextJudge

VALUES = [0, 1, "a", None]
KEYS = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("schema", "accepts", "rejects"),
    [
        (
            {"anyOf": [{"required": ["a"], "properties": {"a": {}}},
                       {"required": ["b"], "properties": {"b": {}}}]},
            ['{"a": 1}', '{"b": 1}', '{"a": 1, "b": 2}'],
            ["{}", '{"c": 1}', '{"a": 1, "c": 1}'],
        ),
        (
            {"oneOf": [{"properties": {"kind": {"const": "x"}, "size": {}}, "required": ["kind"]},
                       {"properties": {"kind": {"const": "y"}, "name": {}}, "required": ["kind"]}]},
            ['{"kind": "x", "size": 1}', '{"kind": "y", "name": 1}', '{"kind": "y"}'],
            ['{"kind": "x", "name": 1}', '{"kind": "y", "size": 1}', '{"size": 1}'],
        ),
        (
            {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
             "then": {"properties": {"b": {}}}, "else": {"properties": {"c": {}}}},
            ['{"a": 1, "b": 2}', '{"a": 1}', '{"c": 3}', "{}"],
            ['{"a": 2}', '{"a": 1, "c": 3}', '{"b": 2}'],
        ),
        (
            {"properties": {"a": {}}, "dependentSchemas": {"a": {"patternProperties": {"^b": {}}}}},
            ['{"a": 1, "bb": 2}', "{}"],
            ['{"bb": 2}', '{"a": 1, "c": 2}'],
        ),
    ],
)  # fmt: skip
def test_a_branch_that_holds_evaluates_its_properties(schema, accepts, rejects):
    schema = {"type": "object", **schema, "unevaluatedProperties": False}
    judge = TextJudge(Embed(JsonSchema.from_value(schema)))
    assert [text for text in accepts if not judge.accepts(text)] == []
    assert [text for text in rejects if judge.accepts(text)] == []


@pytest.mark.parametrize(
    ("schema", "accepts", "rejects"),
    [
        (
            {"contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}},
            ['["a"]', '[null, "a", null]', '["a", "b"]'],
            ["[]", "[null]", '["a", 1]'],
        ),
        (
            {"anyOf": [{"prefixItems": [{"const": 1}]}, {"prefixItems": [{}, {"const": 2}]}],
             "unevaluatedItems": False},
            ["[]", "[1]", "[1, 2]", "[0, 2]", "[0]"],
            ["[1, 3]", "[0, 2, 4]"],
        ),
    ],
)  # fmt: skip
def test_a_branch_that_holds_evaluates_its_elements(schema, accepts, rejects):
    judge = TextJudge(Embed(JsonSchema.from_value({"type": "array", **schema})))
    assert [text for text in accepts if not judge.accepts(text)] == []
    assert [text for text in rejects if judge.accepts(text)] == []


def random_branch(rng, depth):
    """A schema of applicators and what they evaluate; `required` and `const` make it fail."""
    names = rng.sample(KEYS, rng.randint(0, 2))
    branch = {"properties": {name: random_member(rng) for name in names}} if names else {}
    choices = {
        "required": lambda: rng.sample(KEYS, 1),
        "patternProperties": lambda: {rng.choice(["^a", "[bc]"]): random_member(rng)},
        "additionalProperties": lambda: random_member(rng),
        "prefixItems": lambda: [random_member(rng) for _ in range(rng.randint(1, 2))],
        "items": lambda: random_member(rng),
        "contains": lambda: {"const": rng.choice(VALUES)},
    }
    nested = {
        "allOf": lambda: [random_branch(rng, depth - 1)],
        "anyOf": lambda: [random_branch(rng, depth - 1) for _ in range(2)],
        "oneOf": lambda: [random_branch(rng, depth - 1) for _ in range(2)],
        "if": lambda: random_branch(rng, depth - 1),
        "then": lambda: random_branch(rng, depth - 1),
        "else": lambda: random_branch(rng, depth - 1),
        "not": lambda: random_branch(rng, depth - 1),
        "dependentSchemas": lambda: {rng.choice(KEYS): random_branch(rng, depth - 1)},
        "unevaluatedProperties": lambda: random_member(rng),
        "unevaluatedItems": lambda: random_member(rng),
    }
    for makers, most in ((choices, 1), (nested if depth else {}, 2)):
        for keyword in rng.sample([*makers], min(len(makers), rng.randint(0, most))):
            branch[keyword] = makers[keyword]()
    return branch


def random_member(rng):
    return rng.choice([True, True, False, {"const": 1}, {"type": "string"}])


def random_instance(rng):
    if rng.random() < 0.5:
        return [rng.choice(VALUES) for _ in range(rng.randrange(4))]
    return {key: rng.choice(VALUES) for key in rng.sample(KEYS, rng.randrange(4))}


@pytest.mark.parametrize("seed", range(60))
def test_random_branches_agree_with_jsonschema(seed):
    rng = random.Random(seed)
    schema = random_branch(rng, 2) | {
        "unevaluatedProperties": random_member(rng),
        "unevaluatedItems": random_member(rng),
    }
    try:
        judge = TextJudge(Embed(JsonSchema.from_value(schema)))
    except UnsatisfiableError:
        judge = None
    validator = jsonschema.Draft202012Validator(schema)
    for _ in range(40):
        instance = random_instance(rng)
        accepted = judge is not None and judge.accepts_in_some_order(instance)
        assert accepted == validator.is_valid(instance), json.dumps(instance)


@pytest.mark.parametrize(
    ("depth", "width", "limit"),
    [(40, 1, "max_evaluation_depth=32"), (1, 12, "max_evaluation_cases=256")],
)
def test_too_many_branches_are_refused_by_a_named_limit(depth, width, limit):
    schema: dict[str, object] = {"properties": {"x": {}}}
    for level in range(depth):
        others = [{"properties": {f"k{level}{i}": {"const": i}}} for i in range(width)]
        schema = {"anyOf": [schema, *others]}
    with pytest.raises(LimitExceededError, match=limit):
        TextJudge(Embed(JsonSchema.from_value({**schema, "unevaluatedProperties": False})))


@pytest.mark.parametrize(("draft", "is_evaluated"), [("2019-09", False), ("2020-12", True)])
def test_contains_evaluates_since_2020_12(draft, is_evaluated):
    schema = {
        "$schema": f"https://json-schema.org/draft/{draft}/schema",
        "type": "array",
        "contains": {"type": "string"},
        "unevaluatedItems": {"enum": ["b", None]},
    }
    judge = TextJudge(Embed(JsonSchema(json.dumps(schema))))
    assert judge.accepts(b'["a"]') is is_evaluated
    assert judge.accepts(b'["b", null]')
    assert not judge.accepts(b"[null]")
