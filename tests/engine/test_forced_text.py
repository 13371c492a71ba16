"""Tokens that must follow are not sampled; the text is the one that sampling would have written."""

from __future__ import annotations

import pytest

from engine.output import FinishReason
from engine.request import Request, SamplingParams
from tests.engine.support import (
    EOS,
    Forcing,
    Script,
    greedy,
    prompt,
    run_all,
    run_one,
    tiny_engine,
)

TEXT = [{60}, {61}, {62}, range(3, 150), {70}, {71}, range(3, 150), range(3, 150), {80}, {81}]
"""Forced at its beginning, in the middle and at its end; four choices in all."""


@pytest.fixture(scope="module")
def sampling_engine():
    built = tiny_engine(forced_text=False)
    yield built
    built.close()


@pytest.mark.parametrize(
    "sampling",
    [
        greedy(30),
        SamplingParams(max_tokens=30, seed=5),
        SamplingParams(max_tokens=30, seed=6, frequency_penalty=1.5, repetition_penalty=1.3),
        SamplingParams(max_tokens=30, seed=7, top_p=0.5, min_tokens=8),
    ],
)
def test_the_text_is_the_one_that_sampling_writes(engine, sampling_engine, sampling):
    expected = run_one(sampling_engine, prompt(20), sampling, Forcing(TEXT))
    finished = run_one(engine, prompt(20), sampling, Forcing(TEXT))
    assert finished == expected
    assert finished.finish_reason is FinishReason.STOP
    assert finished.work.num_forced_tokens == 7
    assert finished.work.num_forward_passes == 3
    assert expected.work.num_forced_tokens == 0
    assert expected.work.num_forward_passes == 10


def test_what_is_forced_from_the_beginning_comes_with_the_first_sampled_token(engine):
    engine.add_request(Request("x", prompt(20), greedy(30), Forcing(TEXT)))
    (output,) = engine.step()
    assert output.token_ids[:3] == (60, 61, 62)
    assert output.token_ids[4:] == (70, 71)
    engine.abort("x")


def test_a_text_without_any_choice_needs_no_forward_pass(engine):
    before = engine.stats().counters.steps
    finished = run_one(engine, prompt(20), greedy(30), Forcing([{60}, {61}]))
    assert finished.token_ids == [60, 61]
    assert finished.finish_reason is FinishReason.STOP
    assert engine.stats().counters.steps == before
    assert finished.work.num_forward_passes == 0


@pytest.mark.parametrize("max_tokens", range(1, 11))
def test_max_tokens_cuts_forced_text_where_it_would_cut_a_sampled_one(
    engine, sampling_engine, max_tokens
):
    expected = run_one(sampling_engine, prompt(20), greedy(max_tokens), Forcing(TEXT))
    finished = run_one(engine, prompt(20), greedy(max_tokens), Forcing(TEXT))
    assert finished == expected
    assert len(finished.token_ids) == max_tokens


def test_the_context_length_cuts_forced_text_too():
    engine = tiny_engine(max_model_len=22)
    finished = run_one(engine, prompt(20), greedy(30), Forcing(TEXT))
    assert (finished.token_ids, finished.finish_reason) == ([60, 61], FinishReason.LENGTH)


def test_nothing_is_forced_where_the_text_may_end(engine):
    constraint = Forcing([{60}] * 6, ends_by_itself=False, complete_from=2)
    sampling = greedy(30, logit_bias={EOS: 100.0})
    assert run_one(engine, prompt(20), sampling, constraint).token_ids == [60, 60]


def test_min_tokens_counts_forced_tokens(engine):
    constraint = Forcing([{60}] * 9, ends_by_itself=False, complete_from=1)
    sampling = greedy(20, min_tokens=6, logit_bias={EOS: 100.0})
    assert run_one(engine, prompt(8), sampling, constraint).token_ids == [60] * 6


@pytest.mark.parametrize(
    "options",
    [
        {"logit_bias": {61: 1.0}},
        {"bad_words": ((61,),)},
        {"bad_words": ((60, 61),)},
        {"stop_token_ids": (61,)},
    ],
)
def test_a_token_that_the_caller_has_a_say_in_is_sampled(engine, options):
    finished = run_one(engine, prompt(8), greedy(20, **options), Forcing(TEXT))
    assert finished.token_ids[:3] == [60, 61, 62]
    assert finished.work.num_forced_tokens == 6


def test_where_logprobs_are_asked_for_every_token_is_sampled_and_has_its_own(
    engine, sampling_engine
):
    sampling = greedy(30, num_logprobs=3)
    expected = run_one(sampling_engine, prompt(20), sampling, Forcing(TEXT))
    finished = run_one(engine, prompt(20), sampling, Forcing(TEXT))
    assert finished == expected
    assert [entry.token_id for entry in finished.logprobs] == finished.token_ids
    assert finished.work.num_forced_tokens == 0


def test_an_id_that_was_aborted_before_its_first_step_can_be_used_again(engine):
    engine.add_request(Request("x", prompt(8), greedy(20), Forcing([{60}, {61}])))
    engine.abort("x")
    finished = run_all(engine, [Request("x", prompt(8), greedy(20), Forcing([{70}, {71}]))])
    assert finished["x"].token_ids == [70, 71]


def test_a_forced_token_that_the_constraint_refuses_ends_the_request_alone(engine):
    class Contradicting(Script):
        def forced_tokens(self):
            return [99]

    finished = run_all(
        engine,
        [
            Request("bad", prompt(8), greedy(5), Contradicting([{60}, {61}])),
            Request("good", prompt(8), greedy(2)),
        ],
    )
    assert finished["bad"].error == "the constraint refused token 99, which it had allowed"
    assert finished["good"].finish_reason is FinishReason.LENGTH


def test_an_exception_at_the_beginning_ends_the_request_alone(engine):
    class Broken(Script):
        def forced_tokens(self):
            raise ValueError("boom")

    finished = run_one(engine, prompt(8), greedy(5), Broken([{60}, {61}]))
    assert finished.error == "the constraint failed (ValueError); the server's log has the details"


def test_forced_tokens_are_counted(engine):
    before = engine.stats().counters
    run_one(engine, prompt(8), greedy(20), Forcing(TEXT))
    after = engine.stats().counters
    assert after.forced_tokens - before.forced_tokens == 7
    assert after.output_tokens - before.output_tokens == 10
