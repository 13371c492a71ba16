"""Generation through the paged engine is what transformers generates, however it is scheduled."""

from __future__ import annotations

from typing import Any

import pytest

from engine.attention.torch_backend import torch_attention
from engine.config import EngineConfig
from engine.device.shaping import shape_logits_reference
from engine.load import build_engine
from engine.output import FinishReason
from engine.request import PromptScoring, Request, SamplingParams
from tests.engine.support import (
    ARCHITECTURES,
    EOS,
    VOCAB_SIZE,
    Closing,
    Forcing,
    Script,
    greedy,
    greedy_by_transformers,
    prompt,
    run_all,
    run_one,
    tiny_engine,
    tiny_model,
)


@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_greedy_tokens_are_those_of_transformers(model_type):
    prompts = [prompt(3), prompt(20), prompt(45)]
    expected = [greedy_by_transformers(tiny_model(model_type), ids, 24) for ids in prompts]
    engine = tiny_engine(model_type, max_num_batched_tokens=32)
    finished = run_all(engine, [Request(str(i), ids, greedy(24)) for i, ids in enumerate(prompts)])
    assert [finished[str(i)].token_ids for i in range(3)] == expected
    assert all(f.finish_reason is FinishReason.LENGTH for f in finished.values())


@pytest.mark.parametrize("model_type", ["llama", "gemma2"])
def test_the_torch_path_of_cuda_gives_the_same_tokens(model_type, monkeypatch):
    expected = greedy_by_transformers(tiny_model(model_type), prompt(20), 16)
    monkeypatch.setattr("engine.proven_model.CpuAttention", lambda _: torch_attention)
    monkeypatch.setattr("engine.sampler.sampler.shape_logits", shape_logits_reference)
    engine = tiny_engine(model_type, max_num_batched_tokens=32)
    requests = [Request(str(i), prompt(20 + i % 2), greedy(16)) for i in range(3)]
    requests.append(Request("constrained", prompt(9), greedy(16), Script([{50}, {51, 52}])))
    finished = run_all(engine, requests)
    assert finished["2"].token_ids == expected
    assert finished["constrained"].token_ids[0] == 50
    assert finished["constrained"].token_ids[1] in {51, 52}


def test_the_plain_linear_layers_give_the_same_tokens_as_the_packed_ones():
    packed, plain = (tiny_engine(pack_linear_weights=flag) for flag in (True, False))
    assert run_one(packed, prompt(20), greedy(24)) == run_one(plain, prompt(20), greedy(24))


@pytest.mark.parametrize("budget", [1, 3, 16, 17, 64])
def test_a_prompt_computed_in_chunks_gives_the_same_tokens_and_logprobs(budget):
    whole = tiny_engine(max_num_seqs=1, max_num_batched_tokens=128)
    chunked = tiny_engine(max_num_seqs=1, max_num_batched_tokens=budget)
    sampling = greedy(10, num_logprobs=2)
    assert run_one(chunked, prompt(50), sampling) == run_one(whole, prompt(50), sampling)


def test_preempted_sequences_give_the_same_tokens_as_with_room_enough():
    requests = [
        Request(str(i), prompt(20, i), SamplingParams(max_tokens=30, seed=i, ignore_eos=True))
        for i in range(5)
    ]
    roomy, tight = tiny_engine(block_size=4), tiny_engine(block_size=4, num_blocks=20)
    expected = run_all(roomy, requests)
    assert run_all(tight, requests) == expected
    assert roomy.stats().counters.preemptions == 0
    assert tight.stats().counters.preemptions > 0
    assert tight.stats().num_free_blocks == 20


def mixed_request(index: int, request_id: str) -> Request:
    """One of 16 requests of all kinds; made anew each time because constraints have a state."""
    sampling = [
        greedy(12),
        SamplingParams(max_tokens=12, seed=index, ignore_eos=True),
        SamplingParams(max_tokens=12, seed=index, top_p=0.8, temperature=1.3, num_logprobs=3),
        SamplingParams(max_tokens=12, seed=index, top_k=20, presence_penalty=1.0, min_p=0.01),
        greedy(12, repetition_penalty=1.4, logit_bias={7: 5.0}, min_tokens=4, ignore_eos=False),
    ][index % 5]
    constraint = [
        lambda: None,
        lambda: Script([range(10 + index, 12 + index)] * 12),
        lambda: Forcing([{20}, {21}, range(30, 90), {22}, {23}, {24}, range(30, 90)] * 2),
        lambda: Closing(50),
    ][index % 4]()
    return Request(
        request_id,
        prompt(150)[: 3 + 7 * index],  # all begin alike
        sampling,
        constraint,
        cache_salt=bytes(index // 8),
        on_length="close" if index % 4 == 3 else "cut",
        prompt_scoring=PromptScoring(start=3) if index in {6, 9} else None,
    )


PLAIN: dict[str, Any] = {"forced_text": False, "prefix_cache": False}


@pytest.mark.covers("l-determinism", "l-seeded")
@pytest.mark.parametrize(
    "options",
    [
        PLAIN,
        PLAIN | {"pack_linear_weights": False},
        {},
        {"max_draft_tokens": 3},
        {"max_draft_tokens": 3, "num_blocks": 36, "block_size": 5},
    ],
    ids=str,
)
def test_each_of_a_batch_of_16_gets_what_it_gets_alone(options):
    packs = options.get("pack_linear_weights", True)
    plain = tiny_engine(pack_linear_weights=packs, **PLAIN)
    alone = {str(i): run_all(plain, [mixed_request(i, str(i))])[str(i)] for i in range(16)}
    assert all(finished.error is None and finished.token_ids for finished in alone.values())
    engine = tiny_engine(max_num_seqs=16, max_num_batched_tokens=64, **options)
    assert engine.info.is_batch_invariant
    # Equality of everything: tokens, and the logprobs to the last bit. The second time there are
    # keys and values of the first.
    for _ in range(2):
        together = run_all(engine, [mixed_request(i, str(i)) for i in range(16)])
        assert together == alone
    counters = engine.stats().counters
    has_features = options.get("prefix_cache", True)
    assert (counters.cached_prompt_tokens > 0) is has_features
    assert (counters.forced_tokens > 0) is has_features
    assert (counters.accepted_draft_tokens > 0) is ("max_draft_tokens" in options)
    assert (counters.preemptions > 0) is ("num_blocks" in options)


def test_a_request_that_joins_later_changes_nothing_for_those_that_run(engine):
    expected = run_one(engine, prompt(12), greedy(20))
    engine.add_request(Request("first", prompt(12), greedy(20)))
    token_ids = []
    for step in range(20):
        if step == 5:
            engine.add_request(Request("second", prompt(30), greedy(3)))
        token_ids += [t for o in engine.step() if o.request_id == "first" for t in o.token_ids]
    assert token_ids == expected.token_ids
    assert not engine.has_unfinished


def test_generation_ends_at_the_context_length():
    engine = tiny_engine(max_model_len=30)
    finished = run_one(engine, prompt(20), greedy(100))
    assert finished.finish_reason is FinishReason.LENGTH
    assert len(finished.token_ids) == 10


def test_an_end_token_ends_the_sequence_and_is_not_returned():
    model = tiny_model()
    continuation = greedy_by_transformers(model, prompt(9), 8)
    model.generation_config.eos_token_id = [EOS, continuation[5]]
    engine = build_engine(model, EngineConfig(), name="tiny")
    assert engine.info.eos_token_ids == (EOS, continuation[5])
    first = continuation.index(continuation[5])
    finished = run_one(engine, prompt(9), greedy(8, ignore_eos=False))
    assert finished.token_ids == continuation[:first]
    assert finished.finish_reason is FinishReason.STOP
    assert run_one(engine, prompt(9), greedy(8)).token_ids == continuation


def test_end_tokens_that_the_model_cannot_write_are_left_out():
    model = tiny_model()
    model.generation_config.eos_token_id = [VOCAB_SIZE, EOS, -1, 9999]
    engine = build_engine(model, EngineConfig(), name="tiny")
    assert engine.info.eos_token_ids == (EOS,)
    sampling = greedy(6, min_tokens=2, ignore_eos=False)
    for constraint in (None, Script([{50}] * 6)):
        assert run_one(engine, prompt(8), sampling, constraint).error is None


def test_a_stop_token_ends_the_sequence_and_is_not_returned(engine):
    continuation = run_one(engine, prompt(9), greedy(8)).token_ids
    finished = run_one(engine, prompt(9), greedy(8, stop_token_ids=(continuation[3],)))
    assert finished.token_ids == continuation[: continuation.index(continuation[3])]
    assert finished.finish_reason is FinishReason.STOP


def test_min_tokens_keeps_end_tokens_away_until_then(engine):
    continuation = run_one(engine, prompt(9), greedy(8)).token_ids
    stop = continuation[0]
    finished = run_one(engine, prompt(9), greedy(8, stop_token_ids=(stop,), min_tokens=4))
    assert len(finished.token_ids) >= 4
    assert stop not in finished.token_ids


def test_aborting_frees_the_blocks_in_every_state():
    engine = tiny_engine(max_num_seqs=2, max_num_batched_tokens=16)
    for index in range(4):
        engine.add_request(Request(str(index), prompt(40, index), greedy(30)))
    engine.step()
    for _ in range(4):
        engine.step()
    stats = engine.stats()
    assert (stats.num_running, stats.num_waiting) == (2, 2)
    # decoding or prefilling, prefilling, waiting, waiting
    for index in (3, 0, 1, 2):
        output = engine.abort(str(index))
        assert output is not None
        assert output.finish_reason is FinishReason.ABORT
    assert engine.abort("0") is None
    assert not engine.has_unfinished
    stats = engine.stats()
    assert (stats.num_running, stats.num_waiting) == (0, 0)
    assert stats.num_free_blocks == stats.num_blocks
    assert stats.counters.finished[FinishReason.ABORT] == 4
