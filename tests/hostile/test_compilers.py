"""No schema, pattern or grammar crashes, hangs, fills the memory, fails late or is misread."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from grammars.compile import compile_grammar
from grammars.masks.warmup import warm_up
from grammars.spec import JsonObject
from tests.support.hostile import Case, Outcome, judge
from tests.support.hostile_cases import expand, shared_entries
from tests.support.hostile_tally import COMPILED, REFUSED, SLOWEST_MASK, WORKING
from tests.support.tokenizers import real_vocabulary, tiny_vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammars.vocabulary import Vocabulary

OWN_CASES = Path(__file__).parents[1] / "data" / "hostile_compilers.toml"

SLACK = 5.0
"""CPU time is stretched where hyperthreads and caches are shared; what we look for is far above."""

LEAST_WORKING = 54
"""Of the shared cases that may be refused or may work, so many work; the number only rises."""


def own_cases() -> Iterator[Case]:
    for name, entry in tomllib.loads(OWN_CASES.read_text()).items():
        begin, end = (
            repeated * times
            for repeated, times in (entry.pop(side, ("", 0)) for side in ("begin", "end"))
        )
        text = begin + entry.pop("text", "") + end
        yield Case(name, text=text, **{key: _frozen(value) for key, value in entry.items()})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def shared_cases() -> Iterator[Case]:
    for entry in shared_entries("schema", "regex", "grammar"):
        expected = entry["expected"]
        yield Case(
            entry["id"],
            entry["kind"],
            expand(entry).decode(),
            expected["verdict"],
            expected["within_s"],
            expected["rss_mb"],
            tuple(expected.get("valid", ())),
            tuple(expected.get("invalid", ())),
            expected.get("step_ms"),
            expected.get("steps", 150),
        )


def warmed(vocabulary: Vocabulary) -> Vocabulary:
    """With kernels and tables ready, which forked processes share."""
    warm_up(vocabulary)
    matcher = compile_grammar(JsonObject(), vocabulary).matcher()
    matcher.fill_bitmask(np.zeros(vocabulary.num_words, np.int32))
    return vocabulary


@pytest.mark.parametrize("case", list(own_cases()), ids=lambda case: case.name)
def test_our_own_cases_are_survived(case):
    outcome = judge(case, warmed(tiny_vocabulary()), slack=SLACK)
    assert outcome.faults == [], outcome


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[Case, Outcome]]:
    cases = list(shared_cases())
    if not cases:
        pytest.skip("the shared data is not beside the repository")
    vocabulary = warmed(real_vocabulary("qwen3"))
    return {case.name: (case, judge(case, vocabulary, slack=SLACK)) for case in cases}


def test_no_shared_case_has_a_bad_outcome(outcomes, record_property):
    survived = [name for name, (_, outcome) in outcomes.items() if not outcome.faults]
    record_property("survived", survived)
    for _, outcome in outcomes.values():
        what = REFUSED if outcome.verdict == "refused" else COMPILED
        record_property(what, outcome.compile_s)
        record_property(SLOWEST_MASK, outcome.slowest_step_ms / 1000)
    bad = {name: outcome for name, (_, outcome) in outcomes.items() if outcome.faults}
    assert bad == {}


def test_what_must_be_refused_is_and_most_of_the_rest_works(outcomes, record_property):
    must_refuse = [outcome for case, outcome in outcomes.values() if case.verdict == "reject"]
    assert [outcome.verdict for outcome in must_refuse] == ["refused"] * len(must_refuse)
    working = [
        name
        for name, (case, outcome) in outcomes.items()
        if case.verdict != "reject" and outcome.verdict == "accepted"
    ]
    record_property(WORKING, float(len(working)))
    assert len(working) >= LEAST_WORKING
