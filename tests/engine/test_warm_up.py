"""What is called while the model loads leaves no trace, and meets what requests will call."""

from __future__ import annotations

import contextlib

import pytest
import torch

from engine.request import Request
from engine.warm_up import warm_up_decoding, warm_up_sampler
from tests.engine.support import greedy, prompt, run_all, tiny_engine


@pytest.mark.parametrize(
    ("max_model_len", "lengths"),
    [(40, [1]), (512, [1, 512]), (4095, [1, 512, 1024, 2048]), (9000, [1, 512, 1024, 2048, 4096])],
)
def test_each_number_of_slices_is_decoded_once(max_model_len, lengths):
    spans = []

    class Runner:
        def run(self, given):
            spans.extend(given)

    warm_up_decoding(Runner(), block_size=16, max_model_len=max_model_len)  # type: ignore[arg-type]  # a fake
    assert [span.start + 1 for span in spans] == lengths
    assert [len(span.block_ids) * 16 >= span.start + 1 for span in spans] == [True] * len(lengths)
    assert all(set(span.block_ids) == {0} and len(span.token_ids) == 1 for span in spans)


def test_nothing_but_the_null_block_is_written():
    engine = tiny_engine()
    expected = run_all(engine, [Request("x", prompt(20), greedy(8))])
    layers = engine._runner._kv_cache.layers
    before = [(layer.key.clone(), layer.value.clone()) for layer in layers]
    warm_up_decoding(engine._runner, block_size=16, max_model_len=250)
    for layer, (key, value) in zip(layers, before, strict=True):
        assert torch.equal(layer.key[1:], key[1:])
        assert torch.equal(layer.value[1:], value[1:])
    assert run_all(engine, [Request("x", prompt(20), greedy(8))]) == expected


def test_the_sampler_is_tried_with_biases_and_without(monkeypatch):
    adjusted = []

    def noted(_logits, _mask_rows, _row_ids, adjustments):
        adjusted.append(adjustments is not None)

    monkeypatch.setattr("engine.sampler.sampler.shape_logits", noted)
    warm_up_sampler(100, torch.device("cpu"))
    assert adjusted == [False, True]


def test_a_step_runs_with_its_device_current(monkeypatch):
    """Triton and CUDA graphs look at the current device of the thread, not at their tensors."""
    log = []

    @contextlib.contextmanager
    def noted(device):
        log.append(device)
        yield
        log.append(None)

    engine = tiny_engine()
    monkeypatch.setattr("engine.engine.current_device", noted)
    engine.add_request(Request("x", prompt(5), greedy(1)))
    engine.step()
    assert log == [torch.device("cpu"), None]
