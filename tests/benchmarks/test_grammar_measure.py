"""What is measured of an engine, how it is judged, counted and compared: MaskBench's rules."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.clock import Clock
from benchmarks.grammar_failures import failure_lines
from benchmarks.grammar_measure import Document, Job, measure
from benchmarks.grammar_outcome import Broken, Measured, Refused, Written
from benchmarks.grammar_ratios import compare
from benchmarks.grammar_report import ratio_table, summary_json, summary_table
from benchmarks.grammar_result import Result, Verdict
from benchmarks.grammar_summary import Errors, SubsetCount, summarise
from benchmarks.spread import Spread
from tests.support.faulty_engine import FaultyEngine

VALID = Document((2, 3, 4), is_valid=True)
INVALID = Document((2, 0, 4), is_valid=False)


def write(*documents: Document, fault: str | None = None, clock: Clock = Clock.WALL) -> Measured:
    outcome = measure(FaultyEngine(), Job({"fault": fault}, documents), clock)
    assert isinstance(outcome, Measured)
    return outcome


@pytest.mark.parametrize("clock", list(Clock))
def test_every_token_up_to_the_first_refused_one_is_timed(clock):
    found = write(VALID, INVALID, clock=clock)
    assert found.written == (
        Written(is_valid=True, num_tokens=3, can_end=True),
        Written(is_valid=False, num_tokens=3, refused_at=1),
    )
    assert found.step_ns.shape == (5,)
    assert min(found.compile_ns, found.first_mask_ns, *found.step_ns) > 0


def test_a_schema_without_documents_has_a_first_mask():
    found = write()
    assert found.written == ()
    assert found.step_ns.size == 0
    assert found.first_mask_ns > 0


def test_what_compiling_raises_is_a_compile_error_told_in_one_line():
    outcome = measure(FaultyEngine(), Job({"fault": "refuse"}, (VALID,)), Clock.WALL)
    assert outcome == Refused("ValueError: not this one")


def test_what_a_mask_raises_is_counted_and_the_next_document_follows():
    found = write(Document((2, 1), is_valid=False), VALID, fault="raise")
    raised, after = found.written
    assert raised.error == "RuntimeError: mask overflow"
    assert not raised.is_right(with_end=False)
    assert after.is_right(with_end=True)


@pytest.mark.parametrize(
    ("written", "by_tokens", "with_end"),
    [
        (Written(True, 3, can_end=True), True, True),
        (Written(True, 3, can_end=False), True, False),
        (Written(True, 3, refused_at=2), False, False),
        (Written(False, 3, can_end=True), False, False),
        (Written(False, 3, can_end=False), False, True),
        (Written(False, 3, refused_at=0), True, True),
        (Written(False, 3, error="x"), False, False),
    ],
)
def test_a_document_is_right_by_its_tokens_or_with_its_end(written, by_tokens, with_end):
    assert written.is_right(with_end=False) is by_tokens
    assert written.is_right(with_end=True) is with_end


def measured(*written: Written, compile_ms: float = 1, step_us: float = 1) -> Measured:
    steps = np.full(4, step_us * 1e3, np.int64)
    return Measured(int(compile_ms * 1e6), int(1e6), steps, written)


GOOD = Written(True, 3, can_end=True)
REFUSED = Written(True, 3, refused_at=1)
ACCEPTED = Written(False, 3, can_end=True)
UNENDED = Written(False, 3)
RAISED = Written(True, 3, error="RuntimeError: x")


def result(outcome, name="s", subset="A", engine="tightrope") -> Result:
    num_documents = len(outcome.written) if isinstance(outcome, Measured) else 1
    return Result(name, subset, num_documents, engine, outcome)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (measured(), Verdict.PASSING),
        (measured(GOOD), Verdict.PASSING),
        (measured(GOOD, REFUSED), Verdict.VALID_REFUSED),
        (measured(RAISED, REFUSED), Verdict.VALID_REFUSED),
        (measured(REFUSED, UNENDED), Verdict.INVALID_ACCEPTED),
        (measured(GOOD, RAISED), Verdict.RAISED),
        (Refused("x"), Verdict.COMPILE_ERROR),
        (Broken(is_timeout=True, reason="x"), Verdict.TIMEOUT),
        (Broken(is_timeout=False, reason="x"), Verdict.CRASH),
    ],
)
def test_a_schema_has_one_verdict(outcome, verdict):
    assert result(outcome).verdict is verdict


def test_a_summary_counts_schemas_and_documents():
    results = [
        result(measured(GOOD, compile_ms=1)),
        result(measured(compile_ms=2)),
        result(measured(REFUSED, REFUSED, ACCEPTED, RAISED, compile_ms=3)),
        result(measured(GOOD, UNENDED, compile_ms=4), subset="B"),
        result(Refused("x"), subset="B"),
        result(Broken(is_timeout=True, reason="x"), subset="B"),
        result(Broken(is_timeout=False, reason="x"), subset="B"),
    ]
    found = summarise(results, {"A": 60, "B": 40, "not run": 900}, limit_s=5)
    assert (found.schemas, found.with_documents, found.tokens) == (7, 6, 16)
    assert (found.compile_errors, found.timeouts, found.crashes) == (1, 1, 1)
    assert found.documents_raised == Errors(1, 1)
    by_tokens, whole = found.prefix_rule, found.whole_rule
    assert by_tokens.passing == 2
    assert by_tokens.passing_share == pytest.approx(0.6 * 2 / 3)
    assert by_tokens.valid_refused == whole.valid_refused == Errors(1, 2)
    assert by_tokens.invalid_accepted == Errors(2, 2)
    assert whole.passing == 3
    assert whole.passing_share == pytest.approx(0.6 * 2 / 3 + 0.4 * 1 / 4)
    assert whole.invalid_accepted == Errors(1, 1)
    assert found.subsets == {"A": SubsetCount(3, 2), "B": SubsetCount(4, 0)}


def test_a_timeout_counts_as_the_limit_and_a_compile_error_not_at_all():
    results = [
        result(measured(GOOD, compile_ms=2, step_us=7)),
        result(Broken(is_timeout=True, reason="x")),
        result(Refused("x")),
    ]
    times = summarise(results, {"A": 1}, limit_s=5).times
    assert times.compile_ms == Spread.of([2, 5000])
    assert times.first_mask_ms == Spread.of([3, 5000])
    assert times.step_us == Spread.of([7])


def test_an_engine_that_compiles_nothing_has_no_times_and_a_table_all_the_same():
    summary = summarise([result(Refused("x"))], {"A": 1}, limit_s=5)
    assert summary.times.compile_ms is summary.times.step_us is None
    assert summary_json(summary)["times"]["step_us"] is None
    assert summary_table([summary]).row_count > 20


def test_ratios_compare_schemas_that_both_pass():
    def pair(name, ours, theirs):
        return [result(ours, name), result(theirs, name, engine="llguidance")]

    results = [
        *pair("a", measured(GOOD, compile_ms=3, step_us=1), measured(GOOD, step_us=4)),
        *pair("b", measured(GOOD, compile_ms=3, step_us=1), measured(GOOD, step_us=4)),
        *pair("c", measured(GOOD, compile_ms=99), measured(REFUSED, compile_ms=1)),
        *pair("d", measured(GOOD, compile_ms=99), Refused("x")),
        *pair("e", Refused("x"), measured(GOOD, compile_ms=99)),
    ]
    (ratios,) = compare(results)
    assert (ratios.engine, ratios.schemas) == ("tightrope", 2)
    assert set(ratios.times["compile_ms"].values()) == {3.0}
    assert set(ratios.times["first_mask_ms"].values()) == {2.0}
    assert set(ratios.times["step_us"].values()) == {0.25}
    assert ratio_table([ratios]).row_count == 3


def test_without_the_peer_there_are_no_ratios():
    assert compare([result(measured(GOOD))]) == []


def test_failures_are_listed_with_kind_and_reason():
    unended_valid = Written(True, 5)
    results = [
        result(measured(GOOD, REFUSED, ACCEPTED), "one"),
        result(measured(UNENDED, unended_valid, RAISED), "two"),
        result(Refused("ValueError: no"), "three", engine="peer"),
        result(Broken(is_timeout=True, reason="no end within 5 s"), "four"),
        result(Broken(is_timeout=False, reason="its process was ended by SIGABRT"), "five"),
    ]
    assert [line.split("\t") for line in failure_lines(results)] == [
        ["tightrope", "one", "valid_refused", "document 1 was refused at token 1 of 3"],
        [
            "tightrope", "one", "invalid_accepted",
            "document 2 of 3 tokens was accepted as a whole text",
        ],
        [
            "tightrope", "two", "invalid_not_refused",
            "document 0 of 3 tokens was accepted, but its end was not: MaskBench counts it",
        ],
        [
            "tightrope", "two", "valid_not_ended",
            "document 1 of 5 tokens was written, but could not end",
        ],
        ["tightrope", "two", "raised", "document 2 raised RuntimeError: x"],
        ["peer", "three", "compile_error", "ValueError: no"],
        ["tightrope", "four", "timeout", "no end within 5 s"],
        ["tightrope", "five", "crash", "its process was ended by SIGABRT"],
    ]  # fmt: skip
