"""Log probabilities of prompt tokens: those of the model, however they are computed."""

from __future__ import annotations

import asyncio

import pytest
import torch

from engine.async_engine import AsyncEngine
from engine.errors import InvalidRequestError, RequestFailedError
from engine.output import FinishReason
from engine.request import PromptScoring, Request, SamplingParams
from engine.scoring import score as score_continuations
from engine.scoring import scoring_request
from tests.engine.support import greedy, prompt, run_all, tiny_engine, tiny_model

# float32 logits of two implementations of attention: a few 1e-6 of values about 10.
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def engine():
    built = tiny_engine(block_size=8, max_num_seqs=8, max_num_batched_tokens=90)
    yield built
    assert built.stats().num_free_blocks == built.config.num_blocks
    built.close()


def by_transformers(token_ids):
    """The logprobs of the token after each position, (len, vocab), by eager attention."""
    with torch.inference_mode():
        logits = tiny_model()(input_ids=torch.tensor([token_ids])).logits[0]
    return torch.log_softmax(logits.double(), dim=1)


def score(engine, token_ids, scoring, max_tokens=0):
    request = Request("x", token_ids, greedy(max_tokens), prompt_scoring=scoring)
    return run_all(engine, [request])["x"]


@pytest.mark.parametrize(
    ("length", "start"), [(2, 1), (20, 1), (20, 19), (20, 20), (100, 1), (200, 30), (256, 250)]
)
@pytest.mark.parametrize("repeated", [False, True])
def test_prompt_tokens_are_scored_as_the_model_does(engine, length, start, repeated):
    token_ids = prompt(length)
    expected = by_transformers(token_ids)
    if repeated:  # now its blocks are in the cache
        score(engine, token_ids, PromptScoring(start))
    finished = score(engine, token_ids, PromptScoring(start, num_top=2))
    assert finished.finish_reason is FinishReason.LENGTH
    assert finished.token_ids == []
    assert [entry.token_id for entry in finished.prompt_logprobs] == list(token_ids[start:])
    for position, entry in enumerate(finished.prompt_logprobs, start - 1):
        wanted = expected[position, token_ids[position + 1]]
        assert entry.logprob == pytest.approx(float(wanted), abs=TOLERANCE)
        assert [t for t, _ in entry.top] == expected[position].topk(2).indices.tolist()


def test_scoring_changes_nothing_about_what_is_generated(engine):
    (plain,) = run_all(engine, [Request("x", prompt(30), greedy(8))]).values()
    scored = score(engine, prompt(30), PromptScoring(), max_tokens=8)
    assert scored.token_ids == plain.token_ids
    assert len(scored.prompt_logprobs) == 29


def test_bias_and_penalties_do_not_change_scores(engine):
    sampling = SamplingParams(
        1, temperature=2.0, seed=1, logit_bias={7: 50.0}, repetition_penalty=2.0
    )
    request = Request("x", prompt(20), sampling, prompt_scoring=PromptScoring())
    biased = run_all(engine, [request])["x"].prompt_logprobs
    assert biased == score(engine, prompt(20), PromptScoring()).prompt_logprobs


def test_continuations_share_their_prompt_and_are_scored_as_if_alone():
    engine = tiny_engine(block_size=8, max_num_seqs=8)
    shared, continuations = prompt(45), [(7,), (8, 9, 10), (7, 11), tuple(range(20, 40))]
    requests = [scoring_request(str(i), shared, c) for i, c in enumerate(continuations)]
    together = run_all(engine, requests)
    computed = engine.stats().counters.prefill_tokens
    assert computed < 45 + 4 * 8 + sum(map(len, continuations))
    for index, continuation in enumerate(continuations):
        got = [entry.logprob for entry in together[str(index)].prompt_logprobs]
        alone = run_all(engine, [requests[index]])[str(index)].prompt_logprobs
        assert got == [entry.logprob for entry in alone]
        expected = by_transformers(shared + continuation)
        wanted = [float(expected[44 + i, token]) for i, token in enumerate(continuation)]
        assert got == pytest.approx(wanted, abs=TOLERANCE)


async def test_an_engine_in_its_thread_scores_continuations():
    shared, continuations = prompt(45), [(7,), (8, 9, 10), (7, 11)]
    engine = tiny_engine()
    expected = []
    for continuation in continuations:
        (finished,) = run_all(engine, [scoring_request("x", shared, continuation)]).values()
        expected.append([entry.logprob for entry in finished.prompt_logprobs])
    served = AsyncEngine(engine)
    served.start()
    try:
        scores = await score_continuations(served, shared, continuations, request_id="x")
        assert [list(score.logprobs) for score in scores] == expected
        with pytest.raises(InvalidRequestError):
            await score_continuations(served, shared, [(7,), (999,)], request_id="y")
        async with asyncio.timeout(60):
            while served.stats().num_running or served.stats().num_waiting:  # noqa: ASYNC110
                await asyncio.sleep(0)
    finally:
        await served.shutdown()


async def test_a_continuation_that_fails_fails_the_scoring(monkeypatch):
    engine = tiny_engine()
    monkeypatch.setattr(engine._runner, "run", lambda _: torch.full((2, 203), torch.nan))
    served = AsyncEngine(engine)
    served.start()
    try:
        with pytest.raises(RequestFailedError, match="no finite logit"):
            await score_continuations(served, (5,), [(7,)], request_id="x")
    finally:
        await served.shutdown()


def test_a_preempted_sequence_tells_each_score_once():
    engine = tiny_engine(block_size=4, num_blocks=20, max_num_seqs=4)
    requests = [
        Request(str(i), prompt(20, i), greedy(30), prompt_scoring=PromptScoring()) for i in range(4)
    ]
    finished = run_all(engine, requests)
    assert engine.stats().counters.preemptions > 0
    for index in range(4):
        scored = [entry.token_id for entry in finished[str(index)].prompt_logprobs]
        assert scored == list(prompt(20, index)[1:])


def test_scores_that_are_not_finite_end_the_request(engine, monkeypatch):
    run = engine._runner.run

    @torch.inference_mode()
    def poisoned(spans):
        logits = run(spans)
        logits[0] = torch.nan
        return logits

    monkeypatch.setattr(engine._runner, "run", poisoned)
    finished = score(engine, prompt(20), PromptScoring())
    assert finished.error == "the model gave no finite logit to choose from"
    assert finished.prompt_logprobs == []


@pytest.mark.parametrize(
    ("token_ids", "sampling", "scoring", "message"),
    [
        (
            prompt(5),
            SamplingParams(1),
            PromptScoring(0),
            "prompt_scoring.start: 0 must be from 1 to the prompt's 5 tokens",
        ),
        (
            prompt(5),
            SamplingParams(1),
            PromptScoring(6),
            "prompt_scoring.start: 6 must be from 1 to the prompt's 5 tokens",
        ),
        (
            prompt(5),
            SamplingParams(1),
            PromptScoring(1, num_top=21),
            "prompt_scoring.num_top: 21 must be from 0 to max_logprobs=20",
        ),
        (prompt(5), SamplingParams(0), None, "max_tokens: 0 must be at least 1"),
        (prompt(5), SamplingParams(-1), PromptScoring(), "max_tokens: -1 must be at least 1"),
        (
            prompt(257),
            SamplingParams(0),
            PromptScoring(),
            "prompt_token_ids: the prompt has 257 tokens, but prompt and output together may have "
            "256; shorten the prompt",
        ),
    ],
)
def test_scoring_that_makes_no_sense_is_refused(engine, token_ids, sampling, scoring, message):
    with pytest.raises(InvalidRequestError) as caught:
        engine.add_request(Request("x", token_ids, sampling, prompt_scoring=scoring))
    assert str(caught.value) == message
