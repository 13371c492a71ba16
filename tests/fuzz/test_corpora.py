"""Official and real schemas: what compiles writes only what `jsonschema` finds valid.

A sample of each corpus by default; all of it, with 200 walks for each schema, under `make fuzz`.
"""

from __future__ import annotations

import gzip
import json
import random

import pytest

from grammars.compile import compile_grammar
from grammars.errors import GrammarError, LimitExceededError
from grammars.spec import JsonSchema
from tests.fuzz.budget import FACTOR
from tests.fuzz.walks import whole_text
from tests.support.official_suite import suite_file, suite_groups
from tests.support.schema_judge import NotJudgedError, SchemaJudge
from tests.support.shared_data import shared_file
from tests.support.tokenizers import tiny_vocabulary

NUM_SCHEMAS = 40 * FACTOR
NUM_WALKS = min(200, 4 * FACTOR)
LEAST_JUDGED = 0.85


def official_schemas(draft):
    if not suite_file(draft).exists():
        pytest.skip("the suite is not beside the repository")
    return [
        (f"{group['file']}: {group['group']}", json.dumps(group["schema"]))
        for group in suite_groups(draft)
    ]


def real_schemas():
    lines = gzip.decompress(shared_file("jsonschemabench/dev.jsonl.gz").read_bytes()).splitlines()
    entries = map(json.loads, lines)
    return [(entry["id"], json.dumps(entry["schema"])) for entry in entries]


CORPORA = {
    "official, 2020-12": lambda: official_schemas("2020-12"),
    "official, draft-07": lambda: official_schemas("7"),
    "real": real_schemas,
}


def sample(entries):
    """As many as asked for, from all over the corpus."""
    return entries[:: max(1, len(entries) // NUM_SCHEMAS)]


def compiled(text, property_order, vocabulary):
    """None: it is refused by name."""
    try:
        return compile_grammar(JsonSchema(text, property_order=property_order), vocabulary)
    except GrammarError:
        return None


def wrong_texts(name, text, grammar, vocabulary):
    """What the walks write that is invalid, with the reason.

    None: it cannot be judged, or how its texts can end is not found within the budget.
    """
    try:
        judge = SchemaJudge(text)
        for seed in range(NUM_WALKS):
            written = whole_text(grammar.matcher(), vocabulary, random.Random(f"{name} {seed}"))
            if (error := judge.error_of(written)) is not None:
                return [(name, seed, written, error)]
    except (NotJudgedError, LimitExceededError):
        return None
    return []


@pytest.mark.parametrize("property_order", ["schema", "any"])
@pytest.mark.parametrize("corpus", CORPORA)
def test_all_that_a_compiled_schema_writes_is_valid(corpus, property_order):
    vocabulary = tiny_vocabulary()
    wrong: list[tuple[str, int, str, str]] = []
    num_judged = num_compiled = 0
    for name, text in sample(CORPORA[corpus]()):
        grammar = compiled(text, property_order, vocabulary)
        if grammar is not None:
            num_compiled += 1
            found = wrong_texts(name, text, grammar, vocabulary)
            num_judged += found is not None
            wrong += found or []
    assert wrong == []
    assert num_judged >= LEAST_JUDGED * num_compiled > 0
