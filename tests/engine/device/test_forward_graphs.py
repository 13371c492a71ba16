"""Small steps that are launched as a whole compute what other steps compute."""

from __future__ import annotations

import logging

import pytest
import torch

from engine.attention.cuda_backend import triton_attention
from engine.attention.torch_backend import torch_attention
from engine.config import EngineConfig
from engine.device.capture import captured_sizes
from engine.errors import ModelRefusedError
from engine.forward_graphs import ForwardGraphs
from engine.graph_loader import GraphLoader
from engine.kv_cache import KVCache
from engine.load import build_engine
from engine.load_guard import check_runner, eager_logits, measure_layers
from engine.model_runner import ModelRunner
from engine.request import Request, SamplingParams
from engine.step_batch import StepBatch, TokenSpan
from tests.engine.support import (
    ARCHITECTURES,
    VOCAB_SIZE,
    Forcing,
    greedy,
    prompt,
    run_all,
    tiny_engine,
    tiny_model,
)

BLOCK_SIZE = 4
MAX_BLOCKS = 64


def pool(model, shapes):
    return KVCache(
        shapes,
        num_blocks=20,
        block_size=BLOCK_SIZE,
        dtype=torch.float32,
        device=model.device,
    )


def backend_of(model):
    """Triton's interpreter takes seconds for a step."""
    return torch_attention if model.device.type == "cpu" else triton_attention


def graphs_of(model, kv_cache, backend=None):
    return ForwardGraphs(
        model,
        kv_cache,
        backend or backend_of(model),
        sizes=(1, 4, 16),
        max_blocks=MAX_BLOCKS,
        vocab_size=VOCAB_SIZE,
    )


@pytest.fixture(scope="module")
def llama(device):
    model = tiny_model().to(device)
    return model, measure_layers(model)


def check(model, backend):
    """In chunks of several tokens and in single ones."""
    expected = eager_logits(model)
    kv_cache = pool(model, measure_layers(model))
    runner = ModelRunner(model, kv_cache, backend, graphs=graphs_of(model, kv_cache, backend))
    check_runner(runner, [5, 2, 7, 1, 9, 4], model=model, expected=expected)


@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_the_model_passes_its_numeric_self_test(model_type, device):
    model = tiny_model(model_type).to(device)
    check(model, backend_of(model))


def test_the_kernels_of_the_device_pass_it_too(device):
    check(tiny_model("gemma2").to(device), triton_attention)


def test_spans_of_all_lengths_share_a_step(llama):
    """Decodes, several tokens at once with all logits, some or none, and a step with padding."""
    model, shapes = llama
    plain_pool, pool_of_graphs = pool(model, shapes), pool(model, shapes)
    backend = backend_of(model)
    plain = ModelRunner(model, plain_pool, backend)
    graphs = graphs_of(model, pool_of_graphs)
    runner = ModelRunner(model, pool_of_graphs, backend, graphs=graphs)
    steps = [
        [TokenSpan(prompt(5), 0, [3, 9], num_logits=1), TokenSpan(prompt(6, 2), 0, [4, 8], 0)],
        [TokenSpan([7, 8, 9], 5, [3, 9], num_logits=3), TokenSpan([11], 6, [4, 8], 1)],
        [TokenSpan([12, 13], 8, [3, 9, 1], num_logits=2)],
        [TokenSpan([5], 10, [3, 9, 1], num_logits=1), TokenSpan([6], 7, [4, 8], num_logits=1)],
        [TokenSpan([5], 8, [4, 8, 2], num_logits=0)],
    ]
    for spans in steps:
        batch = StepBatch.from_spans(spans, block_size=BLOCK_SIZE, row_multiple=1)
        assert graphs.can_run(batch)
        logits = runner.run(spans).clone()
        torch.testing.assert_close(logits, plain.run(spans), rtol=1e-4, atol=1e-4)
    for mine, other in zip(pool_of_graphs.layers, plain_pool.layers, strict=True):
        torch.testing.assert_close(mine.key[1:], other.key[1:], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(mine.value[1:], other.value[1:], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("lengths", "can_run"),
    [([1], True), ([1] * 16, True), ([16], True), ([8, 7], True), ([1] * 17, False), ([17], False)],
)
def test_steps_of_few_tokens_are_launched_as_a_whole(lengths, can_run, llama):
    model, shapes = llama
    graphs = graphs_of(model, pool(model, shapes))
    spans = [TokenSpan(prompt(length), 0, range(1, 9), num_logits=1) for length in lengths]
    batch = StepBatch.from_spans(spans, block_size=BLOCK_SIZE, row_multiple=1)
    assert graphs.can_run(batch) == can_run


def test_padding_writes_the_null_block_alone(llama):
    """Also where the rows were real in the step before."""
    model, shapes = llama
    kv_cache = pool(model, shapes)
    graphs = graphs_of(model, kv_cache)
    runner = ModelRunner(model, kv_cache, backend_of(model), graphs=graphs)
    runner.run([TokenSpan([7], 5, [index, index + 1], num_logits=1) for index in (2, 4, 6, 8)])
    before = [layer.key.clone() for layer in kv_cache.layers]
    runner.run([TokenSpan([8], 6, [2, 3], num_logits=1), TokenSpan([9], 0, [11], num_logits=1)])
    for layer, key in zip(kv_cache.layers, before, strict=True):
        changed = (layer.key != key).flatten(2).any(2).nonzero().tolist()
        assert [slot for slot in changed if slot[0] != 0] == [[3, 2], [11, 0]]


@pytest.mark.parametrize(
    ("max_rows", "multiple", "sizes"),
    [
        (1, 1, [1]),
        (2, 1, [1, 2]),
        (5, 1, [1, 2, 4, 5]),
        (64, 1, [1, 2, 4, 8, 16, 24, 32, 48, 64]),
        (100, 1, [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 100]),
        (20, 8, [8, 16, 24]),
    ],
)
def test_a_step_is_padded_by_at_most_as_much_again(max_rows, multiple, sizes):
    assert captured_sizes(max_rows, multiple) == sizes


def mixed_requests():
    """Greedy, drawn, with logprobs, under a constraint, and one with a long prompt."""
    drawn = SamplingParams(max_tokens=14, temperature=1.0, seed=4, top_k=7, presence_penalty=0.4)
    forcing = Forcing([{5}, {6, 7}, {8}, range(3, 90), range(3, 90)])
    return [
        Request("greedy", prompt(6), greedy(18)),
        Request("drawn", prompt(9, 1), drawn),
        Request("scored", prompt(5, 2), greedy(9, num_logprobs=2)),
        Request("forced", prompt(7, 3), greedy(12), forcing),
        Request("long", prompt(60, 4), greedy(10)),
    ]


def test_an_engine_gives_the_same_tokens(monkeypatch):
    """On the CPU by the same functions, uncaptured."""

    def engine_of_few_tokens():
        return tiny_engine(max_num_seqs=8, max_num_batched_tokens=32, max_draft_tokens=3)

    expected = run_all(engine_of_few_tokens(), mixed_requests())
    monkeypatch.setattr(GraphLoader, "_on_cuda", True)
    engine = engine_of_few_tokens()
    assert engine._runner._graphs is not None
    finished = run_all(engine, mixed_requests())
    for name, one in expected.items():
        assert finished[name].token_ids == one.token_ids
        assert finished[name].finish_reason == one.finish_reason


@pytest.mark.parametrize("error", [RuntimeError("capturing"), ModelRefusedError("other logits")])
def test_a_model_that_cannot_be_captured_is_served_without(error, monkeypatch, caplog):
    def failing(*_arguments, **_options):
        raise error

    expected = run_all(tiny_engine(), [Request("only", prompt(6), greedy(8))])
    monkeypatch.setattr(GraphLoader, "_on_cuda", True)
    monkeypatch.setattr("engine.graph_loader.check_runner", failing)
    with caplog.at_level(logging.WARNING):
        engine = tiny_engine()
    assert engine._runner._graphs is None
    assert "steps are launched kernel by kernel" in caplog.text
    assert run_all(engine, [Request("only", prompt(6), greedy(8))]) == expected


def test_bursts_that_cannot_be_captured_are_off(monkeypatch, caplog):
    def failing(_graphs):
        raise RuntimeError("capturing")

    monkeypatch.setattr(GraphLoader, "_on_cuda", True)
    monkeypatch.setattr("engine.decode_graphs.DecodeGraphs.prepare", failing)
    with caplog.at_level(logging.WARNING):
        engine = tiny_engine(max_burst_steps=4)
    assert engine._bursts is None
    assert "bursts are off" in caplog.text


def test_all_steps_of_bursts_are_made_while_the_model_loads(monkeypatch):
    monkeypatch.setattr(GraphLoader, "_on_cuda", True)
    engine = tiny_engine(max_burst_steps=4, max_num_seqs=3)
    assert engine._bursts is not None
    made = set(engine._bursts._graphs._steps)
    assert {draws for _, draws in made} == {False, True}
    assert max(size for size, _ in made) >= 3


def test_graphs_are_a_choice(monkeypatch):
    monkeypatch.setattr(GraphLoader, "_on_cuda", True)
    assert tiny_engine(cuda_graphs=False)._runner._graphs is None


@pytest.mark.gpu
@pytest.mark.parametrize("model_type", ["llama", "gemma2", "qwen3"])
def test_captured_steps_give_the_tokens_of_launched_ones(model_type):
    def on_device(**options):
        model = tiny_model(model_type).to(torch.device("cuda"))  # type: ignore[arg-type]  # wrapped
        config = EngineConfig(device="cuda", kv_cache_bytes=2**24, max_num_seqs=8, **options)
        return build_engine(model, config, name="tiny")

    expected = run_all(on_device(cuda_graphs=False), mixed_requests())
    engine = on_device()
    assert engine._runner._graphs is not None
    finished = run_all(engine, mixed_requests())
    assert {name: one.token_ids for name, one in finished.items()} == {
        name: one.token_ids for name, one in expected.items()
    }
