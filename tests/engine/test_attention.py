"""The CPU kernel agrees with the torch reference, and each row depends on its own sequence only."""

from __future__ import annotations

import pytest
import torch

from engine.attention.context import AttentionOptions
from engine.attention.cpu_backend import CpuAttention
from engine.attention.torch_backend import torch_attention
from tests.engine.attention_case import BATCHES, run_attention

OPTIONS = {
    "plain": AttentionOptions(scaling=0.25, sliding_window=None, softcap=None),
    "window": AttentionOptions(scaling=0.25, sliding_window=6, softcap=None),
    "softcap": AttentionOptions(scaling=0.7, sliding_window=None, softcap=1.5),
    "window and softcap": AttentionOptions(scaling=0.7, sliding_window=11, softcap=1.5),
}


def test_sinks_take_their_share_of_the_weights():
    sinks = torch.tensor([0.5, -2.0, 3.0, 90.0])
    options = AttentionOptions(scaling=0.25, sliding_window=9, softcap=None, sinks=sinks)
    heads = {"num_heads": 4, "num_kv_heads": 2}
    spans = BATCHES["decodes and prefill"]
    expected, _ = run_attention(torch_attention, spans, options, **heads)
    output, _ = run_attention(CpuAttention(2), spans, options, **heads)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)
    without, _ = run_attention(CpuAttention(2), spans, OPTIONS["plain"], **heads)
    assert without[:20, 3].abs().max() > 0.1
    assert output[:20, 3].abs().max() < 1e-6  # nearly all weight is the sink's


@pytest.mark.parametrize("spans", BATCHES.values(), ids=BATCHES.keys())
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(4, 4), (6, 2), (4, 1)])
def test_the_cpu_kernel_agrees_with_the_reference(spans, options, num_heads, num_kv_heads):
    heads = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
    expected, expected_pool = run_attention(torch_attention, spans, options, **heads)
    output, pool = run_attention(CpuAttention(2), spans, options, **heads)
    # float32 sums of up to 100 terms in another order: a few eps (1.2e-7) of values about 1.
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(pool.key[1:], expected_pool.key[1:])
    assert torch.equal(pool.value[1:], expected_pool.value[1:])


def test_keys_and_values_may_differ_in_size():
    sizes = {"num_heads": 4, "num_kv_heads": 2, "key_size": 24, "value_size": 16}
    spans, options = BATCHES["decodes and prefill"], OPTIONS["plain"]
    expected, _ = run_attention(torch_attention, spans, options, **sizes)
    output, _ = run_attention(CpuAttention(1), spans, options, **sizes)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", [CpuAttention(1), torch_attention], ids=["cpu", "torch"])
def test_padding_rows_are_zero_and_touch_only_the_null_block(backend):
    heads = {"num_heads": 4, "num_kv_heads": 2}
    output, pool = run_attention(backend, [(1, 9)], OPTIONS["plain"], padding=5, **heads)
    unpadded, unpadded_pool = run_attention(backend, [(1, 9)], OPTIONS["plain"], padding=0, **heads)
    assert output.shape == (6, 4, 16)
    assert torch.equal(output[1:], torch.zeros(5, 4, 16))
    assert not torch.equal(pool.key[0], unpadded_pool.key[0])
    assert unpadded.shape == (1, 4, 16)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("num_threads", [1, 2, 3])
def test_rows_are_the_same_bits_however_the_work_is_shared(options, num_threads, monkeypatch):
    monkeypatch.setattr("engine.attention.cpu_backend._MIN_MULTIPLICATIONS_PER_SHARE", 1000)
    spans = BATCHES["decodes and prefill"]
    expected, _ = run_attention(CpuAttention(1), spans, options, num_heads=6, num_kv_heads=2)
    output, _ = run_attention(
        CpuAttention(num_threads), spans, options, num_heads=6, num_kv_heads=2
    )
    assert torch.equal(output, expected)


@pytest.mark.parametrize("backend", [CpuAttention(1), torch_attention], ids=["cpu", "torch"])
@pytest.mark.parametrize("spans", BATCHES.values(), ids=BATCHES.keys())
@pytest.mark.parametrize("garbage", [torch.nan, torch.inf])
def test_what_a_block_held_before_is_never_seen(backend, spans, garbage):
    heads = {"num_heads": 4, "num_kv_heads": 2, "padding": 0}
    for options in OPTIONS.values():
        expected, _ = run_attention(backend, spans, options, **heads)
        output, _ = run_attention(backend, spans, options, garbage=garbage, **heads)
        assert torch.equal(output, expected)


def test_not_a_number_stays_in_its_own_sequence():
    def poisoned(query, key, value, layer_idx, context, options):
        key[3] = torch.nan  # the second sequence's first token
        return CpuAttention(1)(query, key, value, layer_idx, context, options)

    output, _ = run_attention(
        poisoned, [(3, 3), (2, 2)], OPTIONS["plain"], num_heads=4, num_kv_heads=2
    )
    assert output[:3].isfinite().all()
    assert output[3:5].isnan().all()
