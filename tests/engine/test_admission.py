"""What is refused at the door, word for word."""

from __future__ import annotations

import math
from typing import Any

import pytest

from engine.config import EngineConfig
from engine.errors import InvalidConfigError, InvalidRequestError
from engine.request import Request, SamplingParams
from engine.resolved_config import resolve_config, resolve_device
from tests.engine.support import Script, greedy, prompt, tiny_engine

DEFAULTS: dict[str, Any] = {"max_tokens": 4}


@pytest.fixture(scope="module")
def engine():
    return tiny_engine(max_model_len=40, max_listed_tokens=3, max_logprobs=5)


@pytest.mark.parametrize(
    ("token_ids", "message"),
    [
        ((), "prompt_token_ids: the prompt is empty; give at least one token"),
        (
            prompt(40),
            "prompt_token_ids: the prompt has 40 tokens, but prompt and output together may have "
            "40; shorten the prompt",
        ),
        ((5, 203), "prompt_token_ids: 203 is not a token id; they run from 0 to 202"),
        ((-1,), "prompt_token_ids: -1 is not a token id; they run from 0 to 202"),
    ],
)
def test_prompts_that_could_never_run_are_refused(engine, token_ids, message):
    with pytest.raises(InvalidRequestError) as caught:
        engine.add_request(Request("x", token_ids, SamplingParams(**DEFAULTS)))
    assert str(caught.value) == message
    assert not engine.has_unfinished


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "max_tokens: 0 must be at least 1"),
        ({"min_tokens": 5}, "min_tokens: 5 must be from 0 to max_tokens=4"),
        ({"min_tokens": -1}, "min_tokens: -1 must be from 0 to max_tokens=4"),
        ({"temperature": -0.1}, "temperature: -0.1 must be a finite number, 0 or more"),
        ({"temperature": math.nan}, "temperature: nan must be a finite number, 0 or more"),
        ({"temperature": math.inf}, "temperature: inf must be a finite number, 0 or more"),
        ({"top_p": 0.0}, "top_p: 0.0 must be above 0 and at most 1"),
        ({"top_p": 1.5}, "top_p: 1.5 must be above 0 and at most 1"),
        ({"top_p": math.nan}, "top_p: nan must be above 0 and at most 1"),
        ({"top_k": 0}, "top_k: 0 must be at least 1; None is off"),
        ({"top_k": -1}, "top_k: -1 must be at least 1; None is off"),
        ({"min_p": 1.0}, "min_p: 1.0 must be at least 0 and below 1"),
        ({"presence_penalty": 2.5}, "presence_penalty: 2.5 must be from -2 to 2"),
        ({"frequency_penalty": math.nan}, "frequency_penalty: nan must be from -2 to 2"),
        (
            {"repetition_penalty": 0.0},
            "repetition_penalty: 0.0 must be from 0.001 to 1000; 1 is off",
        ),
        (
            {"repetition_penalty": 1e-300},
            "repetition_penalty: 1e-300 must be from 0.001 to 1000; 1 is off",
        ),
        (
            {"repetition_penalty": math.inf},
            "repetition_penalty: inf must be from 0.001 to 1000; 1 is off",
        ),
        ({"num_logprobs": 6}, "num_logprobs: 6 must be from 0 to max_logprobs=5"),
        ({"num_logprobs": -1}, "num_logprobs: -1 must be from 0 to max_logprobs=5"),
        ({"logit_bias": {7: 101.0}}, "logit_bias: 101.0 for token 7 must be from -100 to 100"),
        ({"logit_bias": {7: math.nan}}, "logit_bias: nan for token 7 must be from -100 to 100"),
        (
            {"logit_bias": {999: 1.0}},
            "logit_bias: 999 is not a token id; they run from 0 to 202",
        ),
        (
            {"logit_bias": dict.fromkeys(range(4), 1.0)},
            "logit_bias: 4 entries are more than max_listed_tokens=3",
        ),
        (
            {"stop_token_ids": (-1,)},
            "stop_token_ids: -1 is not a token id; they run from 0 to 202",
        ),
        (
            {"bad_words": ((4, 5), (6, 7))},
            "bad_words: 4 entries are more than max_listed_tokens=3",
        ),
        ({"bad_words": ((203,),)}, "bad_words: 203 is not a token id; they run from 0 to 202"),
        ({"bad_words": ((4,), ())}, "bad_words: a word without tokens; leave it out"),
        (
            {"stop_token_ids": (4, 5, 6, 7)},
            "stop_token_ids: 4 entries are more than max_listed_tokens=3",
        ),
    ],
)
def test_b071_parameters_out_of_range_are_refused(engine, options, message):
    with pytest.raises(InvalidRequestError) as caught:
        engine.add_request(Request("x", prompt(4), SamplingParams(**(DEFAULTS | options))))
    assert str(caught.value) == message
    assert caught.value.parameter == message.partition(":")[0]
    assert not engine.has_unfinished


def test_an_id_that_is_in_use_is_refused(engine):
    request = Request("x", prompt(4), SamplingParams(**DEFAULTS))
    engine.add_request(request)
    with pytest.raises(InvalidRequestError) as caught:
        engine.add_request(request)
    assert str(caught.value) == "request_id: x is in use"
    engine.abort("x")


def test_a_constraint_is_the_state_of_one_request_alone(engine):
    constraint = Script([{5}] * 30)
    engine.add_request(Request("first", prompt(5), greedy(9), constraint))
    with pytest.raises(InvalidRequestError) as caught:
        engine.add_request(Request("second", prompt(5), greedy(9), constraint))
    assert str(caught.value) == "constraint: it is the state of first; make one for each request"
    engine.abort("first")
    engine.add_request(Request("second", prompt(5), greedy(9), constraint))
    engine.abort("second")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dtype": "int4"},
            "dtype=int4: unknown; use one of auto, float32, bfloat16, float16",
        ),
        ({"block_size": 0}, "block_size=0: must be at least 1"),
        ({"max_logprobs": -1}, "max_logprobs=-1: must be at least 0"),
        ({"max_draft_tokens": -1}, "max_draft_tokens=-1: must be at least 0"),
        ({"num_blocks": 0}, "num_blocks=0: must be at least 1"),
        (
            {"num_blocks": 1, "kv_cache_bytes": 1},
            "num_blocks=1: give either num_blocks or kv_cache_bytes, not both",
        ),
        (
            {"max_num_seqs": 9, "max_num_batched_tokens": 8},
            "max_num_batched_tokens=8: every running sequence needs one token a step; raise it to "
            "max_num_seqs=9 at least",
        ),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(InvalidConfigError) as caught:
        EngineConfig(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("tpu!", "device=tpu!: not a device name"),
        ("meta", "device=meta: only cpu and cuda are supported"),
        ("cuda:99", "device=cuda:99: this machine has no such CUDA device"),
    ],
)
def test_devices_that_are_not_there_are_refused(device, message):
    with pytest.raises(InvalidConfigError) as caught:
        resolve_device(EngineConfig(device=device))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "num_blocks", "max_model_len"),
    [
        ({"num_blocks": 10}, 10, 160),
        ({"kv_cache_bytes": 16 * 100 * 7 + 50}, 7, 112),
        ({"max_num_seqs": 2}, 2 * 64, 1024),
        ({"max_num_seqs": 2, "max_model_len": 100}, 2 * 7, 100),
    ],
)
def test_the_pool_is_as_large_as_asked_and_a_longest_sequence_fits(
    options, num_blocks, max_model_len
):
    resolved = resolve(options)
    assert (resolved.num_blocks, resolved.max_model_len) == (num_blocks, max_model_len)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_model_len": 2000}, "max_model_len=2000: the model supports at most 1024 tokens"),
        (
            {"max_model_len": 100, "num_blocks": 3},
            "max_model_len=100: the KV pool holds only 48 tokens; lower it or give the pool more "
            "memory",
        ),
        ({"kv_cache_bytes": 10}, "kv_cache_bytes=10: one block alone takes 1600 bytes"),
    ],
)
def test_sizes_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(InvalidConfigError) as caught:
        resolve(options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "device", "step"),
    [
        ({}, "cpu", (32, 512)),
        ({}, "cuda", (128, 2048)),
        ({"max_num_batched_tokens": 8}, "cuda", (8, 8)),
        ({"max_num_seqs": 4000}, "cpu", (4000, 4000)),
        ({"max_num_seqs": 3, "max_num_batched_tokens": 9}, "cuda", (3, 9)),
    ],
)
def test_a_step_is_as_large_as_asked_or_as_suits_the_device(options, device, step):
    resolved = resolve(options | {"num_blocks": 64}, device)
    assert (resolved.max_num_seqs, resolved.max_num_batched_tokens) == step


def resolve(options, device="cpu"):
    import torch

    return resolve_config(
        EngineConfig(**options),
        device=torch.device(device),
        dtype=torch.float32,
        kv_bytes_per_token=100,
        model_context_len=1024,
    )
