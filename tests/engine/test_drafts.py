"""Prompt lookup: guesses that are right save steps; right or wrong, the text stays the same."""

from __future__ import annotations

import pytest

from engine.drafts import PromptLookup, num_legal_tokens
from engine.output import FinishReason
from engine.request import Request, SamplingParams
from tests.engine.support import (
    EOS,
    Closing,
    Forcing,
    Script,
    greedy,
    prompt,
    run_all,
    run_one,
    tiny_engine,
)


@pytest.fixture(scope="module")
def drafting():
    built = tiny_engine(max_draft_tokens=4, block_size=4, max_num_seqs=16)
    yield built
    counters = built.stats().counters
    assert 0 < counters.accepted_draft_tokens < counters.draft_tokens
    assert built.stats().num_free_blocks == built.config.num_blocks
    built.close()


@pytest.mark.parametrize(
    ("token_ids", "drafts"),
    [
        ([], []),
        ([1, 2, 3], []),
        ([1, 2, 3, 4, 1, 2], [3, 4, 1]),
        ([1, 2, 3, 1, 2, 4, 1, 2], [4, 1, 2]),  # the latest occurrence
        ([9, 1, 2, 3, 8, 1, 2, 4, 9, 1, 2], [3, 8, 1]),  # the longest
        ([5, 6, 5, 6], [5, 6, 5]),
        ([7, 7, 7], [7, 7, 7]),
    ],
)
def test_what_followed_the_last_tokens_before_is_guessed(token_ids, drafts):
    assert PromptLookup().propose(token_ids, 3) == drafts
    growing = PromptLookup()
    for length in range(len(token_ids)):
        growing.propose(token_ids[:length], 3)
    assert growing.propose(token_ids, 3) == drafts


class CountedTokens(list[int]):
    """Token ids that count how often a part of them is taken."""

    num_parts = 0

    def __getitem__(self, key):
        self.num_parts += 1
        return super().__getitem__(key)


def test_a_growing_text_is_indexed_once():
    lookup, token_ids = PromptLookup(), CountedTokens()
    for token_id in range(500):
        token_ids.append(token_id)
        lookup.propose(token_ids, 3)
    assert token_ids.num_parts < 500 * 7  # three n-grams are entered a token, and three looked up


def test_b082_drafts_are_cut_at_the_first_token_that_the_constraint_refuses():
    constraint = Script([{11}, {12, 13}, {14}, {15}])
    assert num_legal_tokens(constraint, [11, 13, 15]) == 2
    assert num_legal_tokens(constraint, [12]) == 0
    assert num_legal_tokens(constraint, []) == 0
    assert num_legal_tokens(constraint, [11, 12, 14, 15, 16]) == 3  # nothing follows the fourth
    assert constraint.accepted == []


def test_no_draft_stands_behind_the_end_of_a_text():
    assert num_legal_tokens(Script([{11}, {12}]), [11, 12, EOS]) == 1
    assert num_legal_tokens(Script([]), [EOS]) == 0


SAMPLINGS = {
    "greedy": greedy(40),
    "sampled": SamplingParams(40, seed=1, temperature=0.7, ignore_eos=True),
    "nucleus": SamplingParams(40, seed=2, top_p=0.6, ignore_eos=True),
    "penalties": greedy(40, frequency_penalty=0.4, repetition_penalty=1.1),
    "logprobs": SamplingParams(40, seed=3, top_k=5, num_logprobs=3, ignore_eos=True),
    "model's logprobs": greedy(40, num_logprobs=3, logprobs_of="model"),
    "min_tokens": SamplingParams(40, seed=4, min_tokens=30, stop_token_ids=tuple(range(3, 60))),
    "bad words": greedy(40, bad_words=((60, 61), (70,), (61, 62, 60))),
}

CONSTRAINTS = {
    "free": lambda: None,
    "narrow": lambda: Script([{60, 61}, {61, 62}, {60, 62}] * 12, ends_by_itself=False),
    "forced": lambda: Forcing([{60}, {61}, {62, 63}, {64}] * 9),
    "may end": lambda: Script([{60, 61, 62}] * 30, complete_from=9),
}


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS.keys())
def test_drafts_change_no_token_and_no_logprob(engine, drafting, sampling, constraint):
    token_ids = prompt(6) * 3
    expected = run_one(engine, token_ids, sampling, constraint())
    assert run_one(drafting, token_ids, sampling, constraint()) == expected


@pytest.mark.parametrize("max_tokens", range(1, 12))
def test_drafts_end_at_max_tokens(engine, drafting, max_tokens):
    token_ids = (7, 8, 9) * 5
    constraint = [{7, 20}, {8, 21}, {9, 22}] * 4
    expected = run_one(engine, token_ids, greedy(max_tokens), Script(constraint))
    finished = run_one(drafting, token_ids, greedy(max_tokens), Script(constraint))
    assert finished == expected
    assert len(finished.token_ids) == max_tokens


def test_right_drafts_save_forward_passes(drafting):
    # Only one text is possible, but the constraint does not say so.
    constraint = Script([{7}, {8}, {9}] * 8)
    finished = run_one(drafting, (7, 8, 9) * 5, greedy(40), constraint)
    assert len(finished.token_ids) == 24
    assert finished.work.num_forward_passes == 6  # the first has no drafts, then 5 tokens each
    assert finished.work.num_accepted_draft_tokens == 18
    assert constraint.accepted == finished.token_ids


def test_a_text_closes_in_time_with_drafts(engine, drafting):
    for max_tokens in (5, 6, 7, 20):
        finished = [
            run_all(
                built,
                [Request("x", (7, 8) * 9, greedy(max_tokens), Closing(42), on_length="close")],
            )["x"]
            for built in (engine, drafting)
        ]
        assert finished[0] == finished[1]
        assert finished[1].finish_reason is FinishReason.STOP


def test_an_end_token_among_right_drafts_ends_the_text(drafting):
    constraint = Script([{7}, {8}, {EOS}, {9}], ends_by_itself=False, complete_from=2)
    token_ids = (7, 8, EOS, 9) * 5
    finished = run_one(drafting, token_ids, greedy(40, logit_bias={EOS: 100.0}), constraint)
    assert (finished.token_ids, finished.finish_reason) == ([7, 8], FinishReason.STOP)
    free = run_one(drafting, token_ids, greedy(40, logit_bias={EOS: 100.0}, ignore_eos=False), None)
    assert (free.token_ids, free.finish_reason) == ([], FinishReason.STOP)


def test_rejected_drafts_leave_nothing_behind_in_the_prefix_cache(engine):
    drafting = tiny_engine(max_draft_tokens=4, block_size=4)
    token_ids = prompt(6) * 3
    first = run_one(drafting, token_ids, greedy(30), CONSTRAINTS["narrow"]())
    counters = drafting.stats().counters
    assert counters.draft_tokens > counters.accepted_draft_tokens
    longer = (*token_ids, *first.token_ids)
    again = run_one(drafting, longer, greedy(20, num_logprobs=2))
    assert again.num_cached_tokens > len(token_ids)
    assert again == run_one(engine, longer, greedy(20, num_logprobs=2))


def test_drafts_give_way_where_blocks_are_short(engine):
    tight = tiny_engine(max_draft_tokens=6, block_size=4, num_blocks=14, max_num_seqs=3)

    def requests():
        return [
            Request(str(i), prompt(4, i) * 4, greedy(30), CONSTRAINTS["narrow"]()) for i in range(3)
        ]

    assert run_all(tight, requests()) == run_all(engine, requests())
    assert tight.stats().counters.draft_tokens > 0
    assert tight.stats().counters.preemptions > 0
