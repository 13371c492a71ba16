"""Constraints decide: what may be generated, when it ends, and against which settings they win."""

from __future__ import annotations

import itertools

import pytest

from engine.config import EngineConfig
from engine.load import build_engine
from engine.output import FinishReason
from engine.request import SamplingParams
from tests.engine.support import EOS, VOCAB_SIZE, Script, greedy, prompt, run_one, tiny_model


@pytest.mark.parametrize(
    "sampling",
    [
        greedy(20),
        SamplingParams(max_tokens=20, seed=1),
        SamplingParams(max_tokens=20, seed=2, temperature=100.0, min_p=0.2),
        SamplingParams(max_tokens=20, seed=2, temperature=1e300),
        SamplingParams(max_tokens=20, seed=2, temperature=1e300, top_k=3, repetition_penalty=1e3),
        SamplingParams(max_tokens=20, seed=3, top_p=0.01, frequency_penalty=2.0),
        SamplingParams(max_tokens=20, seed=4, top_k=1, repetition_penalty=1.5),
        SamplingParams(max_tokens=20, seed=5, logit_bias=dict.fromkeys(range(3, 200), -100.0)),
    ],
)
def test_b080_only_allowed_tokens_are_generated_whatever_the_settings(engine, sampling):
    allowed = [{50, 51}, {60}, {70, 71, 72}, {80}]
    finished = run_one(engine, prompt(8), sampling, Script(allowed))
    assert finished.finish_reason is FinishReason.STOP
    assert len(finished.token_ids) == 4
    assert all(token in tokens for token, tokens in zip(finished.token_ids, allowed, strict=True))


def test_a_constraint_that_cannot_go_on_stops_at_once_without_an_end_token(engine):
    constraint = Script([{50}, {51}])
    finished = run_one(engine, prompt(8), greedy(20), constraint)
    assert (finished.token_ids, finished.finish_reason) == ([50, 51], FinishReason.STOP)
    assert constraint.accepted == [50, 51]


def test_an_end_token_that_the_mask_allows_is_accepted_and_not_returned(engine):
    constraint = Script([{50}, {51}], ends_by_itself=False)
    finished = run_one(engine, prompt(8), greedy(20), constraint)
    assert (finished.token_ids, finished.finish_reason) == ([50, 51], FinishReason.STOP)
    assert constraint.accepted == [50, 51, EOS]


def test_an_end_token_inside_the_text_is_text_where_the_constraint_says_so(engine):
    class TextWithEndToken(Script):
        is_terminated = property(lambda self: len(self.accepted) == 3)

    finished = run_one(engine, prompt(8), greedy(20), TextWithEndToken([{50}, {EOS}, {51}]))
    assert finished.token_ids == [50, EOS, 51]


def test_b079_min_tokens_gives_way_where_only_an_end_token_is_allowed(engine):
    constraint = Script([{50}], ends_by_itself=False)
    sampling = greedy(20, min_tokens=10, ignore_eos=False)
    finished = run_one(engine, prompt(8), sampling, constraint)
    assert (finished.token_ids, finished.finish_reason) == ([50], FinishReason.STOP)


def test_min_tokens_holds_where_the_constraint_has_a_choice(engine):
    constraint = Script([{50}] * 9, ends_by_itself=False, complete_from=1)
    sampling = greedy(20, min_tokens=6, logit_bias={EOS: 100.0})
    finished = run_one(engine, prompt(8), sampling, constraint)
    assert (finished.token_ids, finished.finish_reason) == ([50] * 6, FinishReason.STOP)


def test_ignore_eos_does_not_carry_a_constrained_text_past_its_end(engine):
    constraint = Script([{50}], ends_by_itself=False)
    finished = run_one(engine, prompt(8), greedy(20, ignore_eos=True), constraint)
    assert (finished.token_ids, finished.finish_reason) == ([50], FinishReason.STOP)


def test_a_stop_token_cannot_cut_an_incomplete_text_short(engine):
    sampling = greedy(20, stop_token_ids=(60,), logit_bias={60: 100.0})
    finished = run_one(engine, prompt(8), sampling, Script([{60, 61}] * 3))
    assert (finished.token_ids, finished.finish_reason) == ([61, 61, 61], FinishReason.STOP)


def test_a_stop_token_is_text_where_the_constraint_allows_nothing_else(engine):
    sampling = greedy(20, stop_token_ids=(60,))
    finished = run_one(engine, prompt(8), sampling, Script([{50}, {60}, {51}]))
    assert finished.token_ids == [50, 60, 51]


def test_a_stop_token_that_completes_the_text_is_part_of_it(engine):
    sampling = greedy(20, stop_token_ids=(51,))
    finished = run_one(engine, prompt(8), sampling, Script([{50}, {51}]))
    assert (finished.token_ids, finished.finish_reason) == ([50, 51], FinishReason.STOP)


def test_a_stop_token_ends_a_complete_text(engine):
    sampling = greedy(20, stop_token_ids=(60,), logit_bias={60: 100.0})
    finished = run_one(engine, prompt(8), sampling, Script([{60, 61}] * 9, complete_from=2))
    assert (finished.token_ids, finished.finish_reason) == ([61, 61], FinishReason.STOP)


def test_an_unfinished_constrained_text_ends_at_max_tokens_with_reason_length(engine):
    finished = run_one(engine, prompt(8), greedy(2), Script([{50}] * 5))
    assert (finished.token_ids, finished.finish_reason) == ([50, 50], FinishReason.LENGTH)


def test_a_text_that_terminates_on_its_last_token_has_reason_stop(engine):
    finished = run_one(engine, prompt(8), greedy(2), Script([{50}] * 2))
    assert (finished.token_ids, finished.finish_reason) == ([50, 50], FinishReason.STOP)


def test_b084_logprobs_under_a_constraint_are_finite_and_of_allowed_tokens_only(engine):
    allowed = {50, 60, 70}
    finished = run_one(engine, prompt(8), greedy(4, num_logprobs=10), Script([allowed] * 4))
    assert len(finished.logprobs) == 4
    for token_id, entry in zip(finished.token_ids, finished.logprobs, strict=True):
        assert entry.token_id == token_id
        assert {top_id for top_id, _ in entry.top} == allowed
        assert entry.logprob == max(logprob for _, logprob in entry.top)
        assert -1e4 < entry.logprob <= 0


def test_the_last_token_of_the_vocabulary_can_be_allowed_alone(engine):
    finished = run_one(engine, prompt(8), greedy(4), Script([{VOCAB_SIZE - 1}]))
    assert finished.token_ids == [VOCAB_SIZE - 1]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_bad_words_are_not_written_as_long_as_there_is_another_choice(engine, temperature):
    sampling = greedy(12, temperature=temperature, seed=1)
    plain = run_one(engine, prompt(9), sampling).token_ids
    single = greedy(12, temperature=temperature, seed=1, bad_words=((plain[2],),))
    assert plain[2] not in run_one(engine, prompt(9), single).token_ids
    words = (tuple(plain[2:4]), tuple(plain[3:6]), (plain[0], plain[1], 9))
    double = greedy(12, temperature=temperature, seed=1, bad_words=words)
    written = run_one(engine, prompt(9), double).token_ids
    assert written[:3] == plain[:3]  # what begins a bad word is no fault
    assert tuple(plain[2:4]) not in set(itertools.pairwise(written))


def test_a_bad_word_does_not_begin_in_the_prompt(engine):
    plain = run_one(engine, prompt(9), greedy(4)).token_ids
    across = greedy(4, bad_words=((prompt(9)[-1], plain[0]),))
    assert run_one(engine, prompt(9), across).token_ids == plain


def test_bad_words_give_way_where_nothing_else_is_allowed(engine):
    sampling = greedy(12, bad_words=((50,), (60,), (60, 70)))
    finished = run_one(engine, prompt(8), sampling, Script([{50}, {60, 61}, {60}, {70}]))
    assert finished.token_ids == [50, 61, 60, 70]
    everything = greedy(3, bad_words=tuple((token_id,) for token_id in range(VOCAB_SIZE)))
    assert run_one(engine, prompt(8), everything) == run_one(engine, prompt(8), greedy(3))


def test_b076_no_end_token_of_several_cuts_an_incomplete_text_short():
    model = tiny_model()
    model.generation_config.eos_token_id = [EOS, 60, 61]
    engine = build_engine(model, EngineConfig(), name="tiny")
    sampling = greedy(20, ignore_eos=False, logit_bias={60: 100.0, EOS: 100.0})
    constraint = Script([{60, 62}, {60}, {50}], ends_by_itself=False)
    finished = run_one(engine, prompt(8), sampling, constraint)
    assert (finished.token_ids, finished.finish_reason) == ([60, 60, 50], FinishReason.STOP)


@pytest.mark.parametrize("logprobs_of", ["choice", "model"])
def test_logprobs_before_and_after_the_mask_are_finite(engine, logprobs_of):
    sampling = greedy(4, num_logprobs=20, logprobs_of=logprobs_of, bad_words=((60,),))
    finished = run_one(engine, prompt(8), sampling, Script([{50, 60}, {70}] * 2))
    assert finished.token_ids == [50, 70, 50, 70]
    for entry in finished.logprobs:
        # Of the model's own tokens there are twenty; of the allowed ones that are not bad, one.
        assert len(entry.top) == (20 if logprobs_of == "model" else 1)
        assert all(-1e4 < logprob <= 0 for _, logprob in (*entry.top, (0, entry.logprob)))
    if logprobs_of == "choice":
        assert all(entry.logprob == 0 for entry in finished.logprobs)
