"""Every keyword alone, and combined with its neighbours by allOf, anyOf, oneOf, not and if."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from grammars.errors import UnsatisfiableError
from grammars.spec import Embed, JsonSchema
from tests.support.grammar_texts import TextJudge

TABLE = Path(__file__).parents[2] / "data" / "keywords.toml"
CELLS = tomllib.loads(TABLE.read_text())["cell"]
NEIGHBOURS = [(CELLS[i - distance], CELLS[i]) for i in range(len(CELLS)) for distance in (1, 4)]
NEGATABLE = [cell for cell in CELLS if not cell.get("narrower_when_negated")]
COMBINED = [
    (keyword, *cells)
    for keyword in ("allOf", "anyOf", "oneOf")
    for cells in NEIGHBOURS
    if keyword != "oneOf" or all(cell in NEGATABLE for cell in cells)  # it negates its branches
]
DECIDED = [cells for cells in NEIGHBOURS if cells[0] in NEGATABLE]  # `else` negates the condition


def satisfies(value: object, schema: dict[str, object]) -> bool:
    checker = Draft202012Validator.FORMAT_CHECKER
    return Draft202012Validator(schema, format_checker=checker).is_valid(value)


def accepted(schema: object, values: list[object]) -> list[object]:
    try:
        judge = TextJudge(Embed(JsonSchema.from_value(schema)))
    except UnsatisfiableError:
        return []
    return [value for value in values if judge.accepts_in_some_order(value)]


def texts_of(*cells: dict[str, list[str]]) -> list[object]:
    return [json.loads(text) for cell in cells for text in (*cell["accepts"], *cell["rejects"])]


@pytest.mark.parametrize("cell", CELLS, ids=[cell["schema"] for cell in CELLS])
def test_a_keyword_accepts_exactly_its_values(cell):
    judge = TextJudge(Embed(JsonSchema(cell["schema"])))
    assert [text for text in cell["accepts"] if not judge.accepts(text)] == []
    assert [text for text in cell["rejects"] if judge.accepts(text)] == []
    assert accepted(json.loads(cell["schema"]), texts_of(cell)) == [
        json.loads(text) for text in cell["accepts"]
    ]


@pytest.mark.parametrize("cell", NEGATABLE, ids=[cell["schema"] for cell in NEGATABLE])
def test_not_a_keyword_accepts_exactly_the_other_values(cell):
    schema = rebased(cell["schema"], "#/not")
    values = texts_of(*CELLS)
    expected = [value for value in values if not satisfies(value, json.loads(cell["schema"]))]
    assert accepted({"not": schema}, values) == expected


@pytest.mark.parametrize(("keyword", "first", "second"), COMBINED)
def test_neighbours_combine_as_sets(keyword, first, second):
    number_holding = {"allOf": {2}, "anyOf": {1, 2}, "oneOf": {1}}[keyword]
    schemas = [json.loads(cell["schema"]) for cell in (first, second)]
    values = texts_of(first, second)
    expected = [
        value
        for value in values
        if sum(satisfies(value, schema) for schema in schemas) in number_holding
    ]
    combined = {
        keyword: [
            rebased(cell["schema"], f"#/{keyword}/{i}") for i, cell in enumerate((first, second))
        ]
    }
    assert accepted(combined, values) == expected


@pytest.mark.parametrize(("condition", "otherwise"), DECIDED)
def test_a_keyword_decides_about_its_neighbour(condition, otherwise):
    values = texts_of(condition, otherwise)
    expected = [
        value
        for value in values
        if satisfies(value, json.loads(condition["schema"]))
        or satisfies(value, json.loads(otherwise["schema"]))
    ]
    schema = {
        "if": rebased(condition["schema"], "#/if"),
        "else": rebased(otherwise["schema"], "#/else"),
    }
    assert accepted(schema, values) == expected


def rebased(text: str, pointer: str) -> object:
    """The schema, its own references led to where it stands now."""
    return json.loads(text.replace('"#/', f'"{pointer}/'))
