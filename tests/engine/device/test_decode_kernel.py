"""The Triton decode kernel agrees with the torch reference, within rounding."""

from __future__ import annotations

import pytest
import torch

from engine.attention.context import AttentionOptions
from engine.attention.cuda_backend import (
    CudaAttention,
    _Decodes,
    _num_slices,
    triton_attention,
)
from engine.attention.torch_backend import torch_attention
from tests.engine.attention_case import BATCHES, run_attention

SINKS = torch.tensor([0.5, -1.0, 2.0, 0.0, 1.0, -3.0])

OPTIONS = {
    "plain": AttentionOptions(scaling=0.25, sliding_window=None, softcap=None),
    "window": AttentionOptions(scaling=0.25, sliding_window=6, softcap=None),
    "softcap": AttentionOptions(scaling=0.7, sliding_window=None, softcap=1.5),
    "sinks": AttentionOptions(scaling=0.25, sliding_window=None, softcap=None, sinks=SINKS),
    "all": AttentionOptions(scaling=0.7, sliding_window=40, softcap=1.5, sinks=SINKS),
}


@pytest.mark.parametrize("spans", BATCHES.values(), ids=BATCHES.keys())
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("padding", [0, 3])
def test_the_kernel_agrees_with_the_reference(spans, options, padding, device):
    sizes = {"num_heads": 6, "num_kv_heads": 2, "padding": padding, "device": device}
    expected, _ = run_attention(torch_attention, spans, options, **sizes)
    output, _ = run_attention(triton_attention, spans, options, **sizes)
    # float32 sums of up to 100 terms in another order: a few eps (1.2e-7) of values about 1.
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("num_heads", "num_kv_heads", "key_size", "value_size"),
    [(4, 4, 16, 16), (8, 1, 64, 64), (4, 2, 24, 40), (2, 1, 128, 128)],
)
def test_sizes_need_not_be_powers_of_two(num_heads, num_kv_heads, key_size, value_size, device):
    sizes = {
        "num_heads": num_heads,
        "num_kv_heads": num_kv_heads,
        "key_size": key_size,
        "value_size": value_size,
        "device": device,
    }
    spans = [(1, 33), (1, 5)]
    expected, _ = run_attention(torch_attention, spans, OPTIONS["plain"], **sizes)
    output, _ = run_attention(triton_attention, spans, OPTIONS["plain"], **sizes)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [512, 700, 1024])
@pytest.mark.parametrize("window", [None, 300, 520])
def test_long_sequences_are_cut_into_slices(length, window, device):
    options = AttentionOptions(scaling=0.25, sliding_window=window, softcap=None)
    sizes = {
        "num_heads": 2,
        "num_kv_heads": 1,
        "device": device,
        "num_blocks": 150,
        "max_blocks": 130,
    }
    spans = [(1, length), (1, 3)]
    expected, _ = run_attention(torch_attention, spans, options, **sizes)
    output, _ = run_attention(triton_attention, spans, options, **sizes)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [
        (torch.float16, 4e-3),
        # The interpreter multiplies the bits of bfloat16 as if they were integers.
        pytest.param(torch.bfloat16, 3e-2, marks=pytest.mark.gpu),
    ],
    ids=str,
)
def test_half_precisions_differ_by_their_rounding(dtype, tolerance, device):
    """Both round weights and results: up to 4 eps (1e-3 and 8e-3) of values about 1."""
    sizes = {"num_heads": 6, "num_kv_heads": 2, "device": device, "dtype": dtype}
    spans = BATCHES["decodes of many lengths"]
    expected, _ = run_attention(torch_attention, spans, OPTIONS["all"], **sizes)
    output, _ = run_attention(triton_attention, spans, OPTIONS["all"], **sizes)
    assert output.dtype is dtype
    torch.testing.assert_close(output, expected, rtol=tolerance, atol=tolerance)


def test_what_a_former_owner_left_in_a_block_is_not_seen(device):
    sizes = {"num_heads": 2, "num_kv_heads": 1, "device": device}
    spans = [(1, 9), (1, 20)]
    expected, _ = run_attention(triton_attention, spans, OPTIONS["plain"], garbage=0.5, **sizes)
    output, _ = run_attention(triton_attention, spans, OPTIONS["plain"], garbage=torch.nan, **sizes)
    assert torch.equal(output, expected)


@pytest.mark.parametrize(
    ("num_heads", "num_kv_heads", "size", "options", "spans"),
    [
        (1, 1, 64, {}, [(1, 1)]),
        (8, 2, 96, {"sliding_window": 1}, [(1, 70), (1, 1), (3, 9)]),
        (8, 1, 128, {"softcap": 30.0, "sliding_window": 64}, [(1, 65), (1, 64), (1, 63)]),
        (4, 1, 256, {"sinks": 4}, [(1, 31), (1, 32), (1, 33)]),
        (7, 1, 80, {"softcap": 5.0, "sinks": 7, "sliding_window": 300}, [(1, 299), (5, 301)]),
        (3, 3, 20, {}, [(1, 1 + index % 9) for index in range(64)]),
    ],
)
def test_heads_windows_caps_and_sinks_together(
    num_heads, num_kv_heads, size, options, spans, device
):
    sinks = torch.linspace(-4, 4, options["sinks"]) if "sinks" in options else None
    wanted = AttentionOptions(
        scaling=size**-0.5,
        sliding_window=options.get("sliding_window"),
        softcap=options.get("softcap"),
        sinks=sinks,
    )
    sizes = {
        "num_heads": num_heads,
        "num_kv_heads": num_kv_heads,
        "key_size": size,
        "value_size": size,
        "num_blocks": 140,
        "max_blocks": 70,
        "garbage": torch.nan,
        "device": device,
    }
    expected, _ = run_attention(torch_attention, spans, wanted, **sizes)
    output, _ = run_attention(triton_attention, spans, wanted, **sizes)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("longest", "num_programs", "num_slices"),
    [
        (1, 1, 1),
        (511, 1, 1),
        (512, 8, 2),
        (1279, 8, 4),  # five slices would be one more kernel
        (40_000, 8, 16),
        (40_000, 8 * 64, 4),
        (40_000, 8 * 256, 1),
        (40_000, 8 * 1024, 1),
    ],
)
def test_keys_are_cut_until_the_device_is_full(longest, num_programs, num_slices):
    assert _num_slices(longest, num_programs) == num_slices


def test_a_step_prepares_its_decodes_once_for_all_layers(monkeypatch, device):
    contexts = []
    prepare = _Decodes.from_context

    def counted(context):
        contexts.append(context)
        return prepare(context)

    monkeypatch.setattr("engine.attention.cuda_backend._Decodes.from_context", counted)
    backend = CudaAttention()

    def three_layers(*arguments):
        return [backend(*arguments) for _ in range(3)][-1]

    sizes = {"num_heads": 6, "num_kv_heads": 2, "device": device}
    for spans in (BATCHES["decodes and prefill"], BATCHES["whole prompts"]):
        expected, _ = run_attention(torch_attention, spans, OPTIONS["all"], **sizes)
        output, _ = run_attention(three_layers, spans, OPTIONS["all"], **sizes)
        torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)
    assert len(contexts) == 2
