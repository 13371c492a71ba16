"""One request's failure is its own: it ends with an error, the others get what they always get."""

from __future__ import annotations

import pytest
import torch

from engine.output import FinishReason
from engine.request import Request
from engine.sampler.sampler import sample
from tests.engine.support import Faulty, Script, greedy, prompt, run_all, tiny_engine


class Panic(BaseException):
    """Like the panics that Rust extensions raise."""


def raises(error):
    def fault():
        raise error

    return fault


FAULTS = {
    "filling raises": (
        "fill_bitmask",
        raises(RuntimeError("boom")),
        "making the constraint's mask failed (RuntimeError); the server's log has the details",
    ),
    "filling panics": (
        "fill_bitmask",
        raises(Panic("ouch")),
        "making the constraint's mask failed (Panic); the server's log has the details",
    ),
    "the mask is empty": (
        "fill_bitmask",
        lambda: "empty",
        "the constraint allows no token here",
    ),
    "accepting raises": (
        "accept_token",
        raises(ValueError("boom")),
        "the constraint failed (ValueError); the server's log has the details",
    ),
    "accepting panics": (
        "accept_token",
        raises(Panic("ouch")),
        "the constraint failed (Panic); the server's log has the details",
    ),
    "the token is rejected": (
        "accept_token",
        lambda: "reject",
        "the constraint refused token {next}, which it had allowed",
    ),
}


def neighbours():
    return [
        Request("free", prompt(11), greedy(10)),
        Request("constrained", prompt(17), greedy(10), Script([range(40, 90)] * 10)),
    ]


@pytest.mark.covers("l-empty-mask")
@pytest.mark.parametrize(("method", "fault", "sentence"), FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("after", [0, 3])
def test_a_faulty_constraint_ends_its_own_request_only(engine, method, fault, sentence, after):
    healthy = run_all(engine, [Request("x", prompt(5), greedy(10), Faulty("", 0, lambda: None))])[
        "x"
    ]
    expected = run_all(engine, neighbours())
    faulty = Request("faulty", prompt(5), greedy(10), Faulty(method, after, fault))
    finished = run_all(engine, [faulty, *neighbours()])
    failed = finished.pop("faulty")
    assert finished == expected
    assert failed.finish_reason is FinishReason.ERROR
    assert failed.error == sentence.format(next=healthy.token_ids[after])
    assert failed.token_ids == healthy.token_ids[:after]


def test_b081_rejected_tokens_are_counted(engine):
    before = engine.stats().counters
    run_all(
        engine,
        [Request("x", prompt(5), greedy(5), Faulty("accept_token", 1, lambda: "reject"))],
    )
    after = engine.stats().counters
    assert after.rejected_tokens - before.rejected_tokens == 1
    assert after.finished[FinishReason.ERROR] - before.finished[FinishReason.ERROR] == 1


@pytest.mark.covers("l-nan-logits")
@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_not_finite_end_their_own_request_only(
    engine, monkeypatch, value, temperature
):
    expected = run_all(engine, neighbours())
    run = engine._runner.run

    @torch.inference_mode()
    def poisoned(spans):
        logits = run(spans)
        row = 0
        for span in spans:
            if span.num_logits:
                if span.start + len(span.token_ids) == 7:
                    logits[row] = value
                row += 1
        return logits

    monkeypatch.setattr(engine._runner, "run", poisoned)
    bad = Request("bad", prompt(5), greedy(10, temperature=temperature, num_logprobs=1))
    finished = run_all(engine, [bad, *neighbours()])
    failed = finished.pop("bad")
    assert finished == expected
    assert failed.finish_reason is FinishReason.ERROR
    assert failed.error == "the model gave no finite logit to choose from"
    assert len(failed.token_ids) == 2


@pytest.mark.covers("l-oom-step")
@pytest.mark.parametrize("place", ["run", "sample"])
def test_a_step_that_fails_as_a_whole_ends_only_the_request_at_fault(engine, monkeypatch, place):
    expected = run_all(engine, neighbours())
    if place == "run":
        run = engine._runner.run

        def failing_run(spans):
            if any(list(span.token_ids)[:5] == list(prompt(5)) for span in spans):
                raise RuntimeError("out of something")
            return run(spans)

        monkeypatch.setattr(engine._runner, "run", failing_run)
    else:

        def failing_sample(logits, states, **keywords):
            if any(state.params.max_tokens == 9 for state in states):
                raise RuntimeError("out of something")
            return sample(logits, states, **keywords)

        monkeypatch.setattr("engine.step_runner.sample", failing_sample)
    finished = run_all(engine, [Request("bad", prompt(5), greedy(9)), *neighbours()])
    failed = finished.pop("bad")
    assert finished == expected
    assert failed.finish_reason is FinishReason.ERROR
    assert failed.error == (
        "the step of this request failed (RuntimeError); the server's log has the details"
    )


def test_a_device_that_is_beyond_use_ends_the_engine(monkeypatch):
    def broken(*_):
        raise RuntimeError("device-side assert")

    engine = tiny_engine()
    engine.add_request(Request("x", prompt(5), greedy(9)))
    monkeypatch.setattr(engine._runner, "run", broken)
    monkeypatch.setattr(engine._runner, "check_device", broken)
    with pytest.raises(RuntimeError, match="device-side assert"):
        engine.step()


def test_an_engine_goes_on_after_every_fault():
    engine = tiny_engine(max_num_seqs=4)
    for method, fault, _ in FAULTS.values():
        run_all(engine, [Request("x", prompt(5), greedy(5), Faulty(method, 0, fault))])
    finished = run_all(engine, [Request("x", prompt(5), greedy(5))])["x"]
    assert finished.finish_reason is FinishReason.LENGTH
    assert engine.stats().num_free_blocks == engine.config.num_blocks
