"""`on_length="close"`: the text is complete when its tokens are used up."""

from __future__ import annotations

import pytest

from engine.errors import InvalidRequestError
from engine.output import FinishReason
from engine.request import Request, SamplingParams
from tests.engine.support import Closing, Forcing, Script, Silent, greedy, prompt, run_all

CLOSER = 42


def close(engine, max_tokens, constraint, **options):
    request = Request("x", prompt(9), greedy(max_tokens, **options), constraint, on_length="close")
    return run_all(engine, [request])["x"]


@pytest.mark.parametrize("max_tokens", [3, 4, 10, 25])
def test_b089_the_text_closes_in_time(engine, max_tokens):
    finished = close(engine, max_tokens, Closing(CLOSER))
    assert len(finished.token_ids) == max_tokens
    assert finished.token_ids[-3:] == [CLOSER] * 3
    assert finished.finish_reason is FinishReason.STOP
    assert finished.was_closed


def test_the_context_length_is_a_limit_like_max_tokens(engine):
    request = Request(
        "x", prompt(250), greedy(100), Closing(CLOSER), on_length="close"
    )  # 256 tokens in all
    finished = run_all(engine, [request])["x"]
    assert (len(finished.token_ids), finished.finish_reason) == (6, FinishReason.STOP)
    assert finished.was_closed


def test_without_it_the_text_is_cut(engine):
    request = Request("x", prompt(9), greedy(10), Closing(CLOSER))
    finished = run_all(engine, [request])["x"]
    assert finished.finish_reason is FinishReason.LENGTH
    assert not finished.was_closed
    assert finished.token_ids[-3:] != [CLOSER] * 3


def test_a_text_that_ends_by_itself_was_not_closed(engine):
    sampling = {"logit_bias": {CLOSER: 100.0}}
    finished = close(engine, 10, Closing(CLOSER), **sampling)
    assert finished.token_ids == [CLOSER] * 3
    assert (finished.finish_reason, finished.was_closed) == (FinishReason.STOP, False)


def test_a_complete_text_that_could_go_on_was_closed_by_the_limit(engine):
    constraint = Script([{60}] * 9, ends_by_itself=False, complete_from=2)
    finished = close(engine, 5, constraint, min_tokens=5)
    assert finished.token_ids == [60] * 5
    assert (finished.finish_reason, finished.was_closed) == (FinishReason.STOP, True)


def test_closed_texts_are_counted(engine):
    before = engine.stats().counters.closed
    close(engine, 5, Closing(CLOSER))
    close(engine, 10, Closing(CLOSER), logit_bias={CLOSER: 100.0})
    assert engine.stats().counters.closed - before == 1


def test_forced_text_that_spells_more_than_it_must_is_left_to_the_mask(engine):
    class Wordy(Closing):
        """Forces two tokens that bring the end no nearer."""

        def forced_tokens(self):
            return [50, 51] if len(self.accepted) == 4 else []

    finished = close(engine, 9, Wordy(CLOSER))
    assert finished.token_ids[4:6] == [50, 51]
    assert finished.work.num_forced_tokens == 2
    finished = close(engine, 8, Wordy(CLOSER))
    assert finished.work.num_forced_tokens == 1
    finished = close(engine, 7, Wordy(CLOSER))
    assert finished.work.num_forced_tokens == 0
    assert (finished.token_ids[4:], finished.was_closed) == ([CLOSER] * 3, True)


def test_a_constraint_that_cannot_keep_its_promise_never_ends_with_stop(engine):
    class Liar(Closing):
        def fill_closing_bitmask(self, row, tokens_left):
            del tokens_left
            self.fill_bitmask(row)

    finished = close(engine, 6, Liar(CLOSER))
    assert (finished.finish_reason, finished.was_closed) == (FinishReason.LENGTH, False)


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (None, "on_length: close needs a constraint; free text has no end"),
        (
            Forcing([{60}] * 5),
            "max_tokens: 4 is too little for a complete text, which needs up to 5 tokens",
        ),
        (
            Silent([{60}]),
            "on_length: close is not possible with this constraint: this grammar has no lengths",
        ),
    ],
)
def test_what_cannot_close_in_time_is_refused(engine, constraint, message):
    request = Request("x", prompt(4), SamplingParams(4), constraint, on_length="close")
    with pytest.raises(InvalidRequestError) as caught:
        engine.add_request(request)
    assert str(caught.value) == message


def test_the_context_length_counts_for_the_refusal_too(engine):
    request = Request(
        "x", prompt(253), SamplingParams(99), Forcing([{60}] * 5), on_length="close"
    )  # 256 in all
    with pytest.raises(InvalidRequestError) as caught:
        engine.add_request(request)
    assert str(caught.value) == (
        "max_tokens: 3 is too little for a complete text, which needs up to 5 tokens"
    )
