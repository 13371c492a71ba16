"""States made from templates are those that are made from their items."""

from __future__ import annotations

import gzip
import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from grammars.automata.dfa import DEAD
from grammars.errors import GrammarError
from grammars.limits import CompileLimits
from grammars.pushdown.actions import Goto, Pop, Push
from grammars.pushdown.layout import StateColumn
from grammars.pushdown.structural import StructuralStates
from grammars.pushdown.tables import AutomatonTables
from grammars.spec import Embed, JsonSchema
from tests.support.shared_data import shared_file
from tests.support.tokenizers import tiny_vocabulary

if TYPE_CHECKING:
    from grammars.automata.dfa import Dfa

CELLS = tomllib.loads((Path(__file__).parents[2] / "data/keywords.toml").read_text())["cell"]
MOVABLE = [cell["schema"] for cell in CELLS if "$ref" not in cell["schema"]]

NESTED = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 3},
        "b": {"anyOf": [{"type": "object", "properties": {"c": {"type": "null"}}}, {"const": 1}]},
        "c": {"type": "array", "items": {"$ref": "#"}, "minItems": 1, "maxItems": 3},
        "d": {"type": "array", "prefixItems": [{"type": "integer"}], "items": False},
        "e": {"type": "array", "items": {"type": "array"}, "uniqueItems": True},
        "f": {"anyOf": [{"required": ["x"]}, {"type": "object", "minProperties": 2}]},
        "g": False,
    },
    "required": ["b", "d"],
}


class Layer:
    """A structural layer and its tables."""

    def __init__(self, schema: str, *, is_plain: bool, **options) -> None:
        self.tables = AutomatonTables()
        self.states = StructuralStates(
            Embed(JsonSchema(schema, **options)),
            self.tables,
            tiny_vocabulary(),
            CompileLimits(),
            is_plain=is_plain,
        )

    def row(self, state: int) -> list[int]:
        """What a state is, without the numbers that differ between tables; its outcome last."""
        row = self.tables.state_row(state)
        columns = (
            StateColumn.NUM_LABELS,
            StateColumn.IS_FINAL,
            StateColumn.COUNT_MIN,
            StateColumn.COUNT_MAX,
            StateColumn.WINDOW,
        )
        full = self.tables.outcome(row[StateColumn.FULL_OUTCOME])
        return [*(row[column] for column in columns), full]

    def lexer(self, state: int) -> tuple[Dfa, int] | None:
        start = self.tables.lexer_start(state)
        return None if start == DEAD else self.tables.lexers.locate(start)

    def action(self, state: int, label: int) -> object:
        if not self.tables.has_action(state, label):
            self.states.expand_action(state, label)
        return self.tables.action(state, label)

    def resume(self, state: int, outcome: int) -> int:
        if self.tables.resume(state, outcome) is None:
            self.states.expand_resume(state, outcome)
        resumed = self.tables.resume(state, outcome)
        assert resumed is not None
        return resumed


def assert_alike(schema: str, max_pairs: int, **options) -> int:
    """Both layers, in step from their roots; how many states were made from templates."""
    fast, plain = (Layer(schema, is_plain=flag, **options) for flag in (False, True))
    pending = [(fast.states.root, plain.states.root)]
    seen = set(pending)
    for mine, other in pending:
        assert fast.row(mine) == plain.row(other)
        assert_same_lexer(fast.lexer(mine), plain.lexer(other))
        assert fast.states.distinct_texts(mine) == plain.states.distinct_texts(other)
        targets = [
            pair
            for label in range(1, fast.states.num_labels(mine) + 1)
            for pair in targets_of(fast.action(mine, label), plain.action(other, label))
        ]
        items = [1 << i for i in range(fast.row(mine)[-1].bit_length())]
        if len(items) > 1:
            targets += [(fast.resume(mine, o), plain.resume(other, o)) for o in items]
        for pair in targets:
            if pair not in seen and len(seen) < max_pairs:
                seen.add(pair)
                pending.append(pair)
    return sum(fast.states.is_of_json(state) for state, _ in seen)


def targets_of(mine: object, other: object) -> list[tuple[int, int]]:
    """The pairs of states that two actions of one label lead to."""
    match mine, other:
        case Goto(a), Goto(b):
            return [(a, b)]
        case Push(a, c), Push(b, d):
            return [(a, b), (c, d)]
        case Pop(a), Pop(b):
            assert a == b
            return []
        case _:
            assert mine == other
            return []


def assert_same_lexer(mine: tuple[Dfa, int] | None, other: tuple[Dfa, int] | None) -> None:
    if mine is None or other is None:
        assert mine is other
        return
    assert mine[1] == other[1]
    if mine[0] is not other[0]:
        assert np.array_equal(mine[0].next_state, other[0].next_state)
        assert np.array_equal(mine[0].symbol_class, other[0].symbol_class)
        assert np.array_equal(mine[0].label, other[0].label)


@pytest.mark.parametrize("whitespace", ["single", "compact"])
@pytest.mark.parametrize("order", ["schema", "any"])
def test_a_schema_with_everything(order, whitespace):
    text = json.dumps(NESTED)
    num_made = assert_alike(text, 300, property_order=order, whitespace=whitespace)
    assert num_made > 10


@pytest.mark.parametrize("cell", CELLS, ids=[cell["schema"] for cell in CELLS])
def test_a_keyword_alone(cell):
    assert_alike(cell["schema"], 60)


@pytest.mark.parametrize("number", range(len(MOVABLE)))
def test_a_keyword_beside_the_next_one(number):
    schema, other = (json.loads(MOVABLE[number - i]) for i in (0, 1))
    members = {"type": "object", "properties": {"a": schema, "b": other}}
    assert_alike(json.dumps({"type": "array", "items": {"anyOf": [members, schema]}}), 60)
    assert_alike(json.dumps(members), 60)


def test_schemas_of_a_public_collection():
    lines = gzip.decompress(shared_file("jsonschemabench/dev.jsonl.gz").read_bytes()).splitlines()
    num_made = num_refused = 0
    for line in lines[::40]:
        schema = json.loads(line)["schema"]
        try:
            num_made += assert_alike(json.dumps(schema), 40)
        except GrammarError:
            num_refused += 1
    assert num_made > 500
    assert num_refused < 5
