"""The sampler against plain references; what a row gets does not depend on the batch."""

from __future__ import annotations

import collections
import math

import pytest
import torch

from engine.device.mask_pool import ALL_TOKENS
from engine.request import SamplingParams
from engine.sampler.draw import RowParams, draw_tokens_reference
from engine.sampler.draw import draw_tokens as draw_with_largest
from engine.sampler.logprobs import gather_logprobs
from engine.sampler.processors import apply_penalties
from engine.sampler.randomness import uniform
from engine.sampler.sampler import largest_logits, sample
from engine.sampler.state import SamplingState


def random_logits(num_rows, vocab_size, seed=0, scale=3.0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((num_rows, vocab_size), generator=generator) * scale


def draw_tokens(logits, states):
    return draw_with_largest(logits.contiguous(), logits.amax(1), states)


def kept_by_the_book(logits, params):
    """Token -> probability after temperature, top-k, top-p and min-p, one row, plain Python."""
    scaled = [float(x) / params.temperature for x in logits]
    largest = max(scaled)
    weights = {token: math.exp(x - largest) for token, x in enumerate(scaled) if x > -math.inf}
    order = sorted(weights, key=lambda token: -weights[token])[: params.top_k or len(scaled)]
    total, before, kept = sum(weights[token] for token in order), 0.0, []
    for token in order:
        if before < params.top_p * total and weights[token] >= params.min_p * weights[order[0]]:
            kept.append(token)
        before += weights[token]
    mass = sum(weights[token] for token in kept)
    return {token: weights[token] / mass for token in kept}


FILTERS = [
    SamplingParams(max_tokens=1),
    SamplingParams(max_tokens=1, temperature=0.4),
    SamplingParams(max_tokens=1, temperature=2.0, top_k=5),
    SamplingParams(max_tokens=1, top_p=0.7),
    SamplingParams(max_tokens=1, temperature=1.5, top_p=0.5, top_k=7),
    SamplingParams(max_tokens=1, min_p=0.2),
    SamplingParams(max_tokens=1, temperature=3.0, top_p=0.9, min_p=0.1),
    SamplingParams(max_tokens=1, top_k=1),
    SamplingParams(max_tokens=1, top_p=1e-9),
    SamplingParams(max_tokens=1, top_k=1000),
]


@pytest.mark.parametrize("params", FILTERS, ids=str)
def test_tokens_are_drawn_with_the_probabilities_of_the_book(params):
    num_draws = 3000
    logits = random_logits(1, 12)
    expected = kept_by_the_book(logits[0], params)
    seeded = [SamplingState(_with_seed(params, seed), []) for seed in range(num_draws)]
    drawn = draw_tokens(logits.expand(num_draws, -1), seeded).tolist()
    counts = collections.Counter(drawn)
    assert set(counts) <= set(expected)
    for token, probability in expected.items():
        # Five standard deviations of a binomial; the seeds are fixed, so it cannot flicker.
        margin = 5 * math.sqrt(probability * (1 - probability) / num_draws) + 1e-9
        assert abs(counts[token] / num_draws - probability) <= margin


def _with_seed(params, seed):
    fields = {name: getattr(params, name) for name in params.__dataclass_fields__}
    return SamplingParams(**(fields | {"seed": seed}))


@pytest.mark.parametrize("top_p", [0.05, 0.5, 0.99, 0.999999])
@pytest.mark.parametrize("scale", [0.01, 3.0])
def test_a_nucleus_wider_than_the_first_candidates_is_found_whole(top_p, scale):
    params = SamplingParams(max_tokens=1, top_p=top_p)
    logits = random_logits(1, 5000, scale=scale)
    expected = kept_by_the_book(logits[0].double(), params)
    seeded = [SamplingState(_with_seed(params, seed), []) for seed in range(500)]
    drawn = set(draw_tokens(logits.expand(500, -1), seeded).tolist())
    assert len(drawn - set(expected)) <= 1  # the last of the nucleus may differ by rounding
    if scale < 1 and top_p >= 0.5:
        # Nearly uniform over thousands of tokens: the draws fall beyond the first 1024 as well.
        likeliest = set(logits[0].topk(1024).indices.tolist())
        assert len(drawn - likeliest) > 100


@pytest.mark.parametrize("params", FILTERS, ids=str)
def test_a_row_is_drawn_the_same_alone_and_among_others(params):
    logits = random_logits(len(FILTERS) + 1, 3001, seed=4)
    others = [SamplingState(_with_seed(other, 7), []) for other in FILTERS]
    alone = draw_tokens(logits[:1], [SamplingState(_with_seed(params, 9), [])])
    together = draw_tokens(logits, [SamplingState(_with_seed(params, 9), []), *others])
    assert together[0] == alone[0]


@pytest.mark.parametrize("params", FILTERS, ids=str)
@pytest.mark.parametrize("scale", [0.02, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("num_impossible", [0, 2900])
def test_the_kernel_draws_what_the_reference_draws(params, scale, num_impossible):
    logits = random_logits(200, 3001, seed=8, scale=scale)
    logits[:, 50 : 50 + num_impossible] = -torch.inf
    states = [SamplingState(_with_seed(params, seed), []) for seed in range(200)]
    largest = logits.amax(1)
    expected = draw_tokens_reference(logits, largest, RowParams.from_states(states, logits))
    # Sums of another order: a random number within 1e-6 of a token's edge may fall on either side.
    assert (draw_tokens(logits, states) != expected).sum() <= 1


@pytest.mark.parametrize("vocab_size", [1, 15, 16, 17, 203, 1000])
def test_the_largest_logit_is_found_with_its_first_place(vocab_size):
    logits = random_logits(20, vocab_size, scale=1.0).round()  # so that there are equal ones
    logits[3] = -torch.inf
    logits[4, vocab_size // 2] = torch.inf
    logits[5, vocab_size - 1] = torch.nan
    logits[6, 0] = torch.nan
    largest, tokens = largest_logits(logits)
    assert torch.equal(largest.nan_to_num(99.0), logits.amax(1).nan_to_num(99.0))
    for row in (*range(5), *range(7, 20)):
        assert int(tokens[row]) == int((logits[row] == largest[row]).nonzero()[0])


@pytest.mark.parametrize("temperature", [1e-300, 1e-30, 1e-5])
def test_a_tiny_temperature_is_greedy_and_never_overflows(temperature):
    params = SamplingParams(max_tokens=1, temperature=temperature, seed=1)
    logits = random_logits(4, 100) * 100
    drawn = draw_tokens(logits, [SamplingState(params, [])] * 4)
    assert torch.equal(drawn, logits.argmax(1))


@pytest.mark.parametrize("params", FILTERS, ids=str)
def test_an_impossible_token_is_never_drawn(params):
    logits = torch.full((200, 3000), -torch.inf)
    logits[:, 1234] = -500.0
    states = [SamplingState(_with_seed(params, seed), []) for seed in range(200)]
    assert set(draw_tokens(logits, states).tolist()) == {1234}


def test_random_numbers_are_a_function_of_seed_and_position():
    assert uniform(1, 2) == uniform(1, 2)
    numbers = {uniform(seed, position) for seed in range(-5, 5) for position in range(10)}
    assert len(numbers) == 100
    assert all(0 <= number < 1 for number in numbers)


def test_a_state_gives_the_same_number_until_a_token_is_recorded():
    state = SamplingState(SamplingParams(max_tokens=9, seed=3), [])
    first = state.next_uniform()
    assert state.next_uniform() == first
    state.record(5)
    assert state.next_uniform() != first


def test_requests_without_a_seed_differ():
    params = SamplingParams(max_tokens=1)
    assert SamplingState(params, []).next_uniform() != SamplingState(params, []).next_uniform()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # prompt: 1, 2; output: 2, 3, 3
        ({"presence_penalty": 0.5}, [1.0, -1.0, 1.5, -2.5, 0.0]),
        ({"frequency_penalty": 0.5}, [1.0, -1.0, 1.5, -3.0, 0.0]),
        ({"repetition_penalty": 2.0}, [1.0, -2.0, 1.0, -4.0, 0.0]),
        (
            {"presence_penalty": 1.0, "frequency_penalty": -0.5, "repetition_penalty": 2.0},
            [1.0, -2.0, 0.5, -4.0, 0.0],
        ),
    ],
)
def test_penalties(options, expected):
    state = SamplingState(SamplingParams(max_tokens=9, **options), [1, 2])
    off = SamplingState(SamplingParams(max_tokens=9), [1, 2])
    for token_id in (2, 3):
        state.record(token_id)
        off.record(token_id)
    row = torch.tensor([1.0, -1.0, 2.0, -2.0, 0.0])
    apply_penalties(torch.stack([row, row]), [off, state])
    state.record(3)
    logits = torch.stack([row, row])
    apply_penalties(logits, [off, state])
    assert logits[0].tolist() == row.tolist()
    assert logits[1].tolist() == expected


def test_biases_and_suppressed_tokens_are_those_of_their_own_row():
    logits = torch.zeros(3, 4)
    plain = SamplingState(SamplingParams(max_tokens=1, temperature=0.0), [])
    biased = SamplingState(
        SamplingParams(max_tokens=1, temperature=0.0, logit_bias={1: 2.5, 3: -100.0}), []
    )
    everything = torch.full((1, 1), -1, dtype=torch.int32)
    sampled = sample(
        logits,
        [plain, biased, biased],
        suppressed={2: [0, 1]},
        mask_rows=everything,
        row_ids=[ALL_TOKENS] * 3,
    )
    assert logits.tolist() == [[0, 0, 0, 0], [0, 2.5, 0, -100], [-math.inf, -math.inf, 0, -100]]
    assert [token.token_id for token in sampled] == [0, 1, 2]


def test_logprobs_are_those_of_torch_and_leave_impossible_tokens_out():
    logits = random_logits(3, 50)
    logits[1, 5:] = -torch.inf
    token_ids = torch.tensor([7, 3, 49])
    found = gather_logprobs(logits, token_ids, [3, 20, 0])
    reference = torch.log_softmax(logits.double(), dim=1)
    for row, entry in enumerate(found):
        assert entry.token_id == int(token_ids[row])
        assert entry.logprob == pytest.approx(float(reference[row, token_ids[row]]), abs=1e-5)
        for token_id, logprob in entry.top:
            assert logprob == pytest.approx(float(reference[row, token_id]), abs=1e-5)
    assert [len(entry.top) for entry in found] == [3, 5, 0]
    assert [t for t, _ in found[0].top] == logits[0].topk(3).indices.tolist()


@pytest.mark.parametrize("logprobs_of", ["choice", "model"])
@pytest.mark.parametrize("temperature", [0.0, 5.0])
def test_logprobs_are_of_the_choice_or_of_the_model_and_never_of_the_temperature(
    logprobs_of, temperature
):
    params = SamplingParams(
        max_tokens=1,
        temperature=temperature,
        seed=1,
        num_logprobs=4,
        logprobs_of=logprobs_of,
        logit_bias={4: 3.0},
    )
    logits = random_logits(1, 30)
    asked = logits[0].clone()
    if logprobs_of == "choice":
        asked[4] += 3.0
        asked[5:] = -torch.inf
    (sampled,) = sample(
        logits,
        [SamplingState(params, [])],
        suppressed={},
        mask_rows=torch.tensor([[-1], [0b11111]], dtype=torch.int32),
        row_ids=[1],
    )
    reference = torch.log_softmax(asked, dim=0)
    assert sampled.token_id in range(5)
    assert sampled.logprobs is not None
    assert sampled.logprobs.token_id == sampled.token_id
    assert sampled.logprobs.logprob == pytest.approx(float(reference[sampled.token_id]), abs=1e-5)
    assert [t for t, _ in sampled.logprobs.top] == reference.topk(4).indices.tolist()
    assert all(math.isfinite(logprob) for _, logprob in sampled.logprobs.top)
