"""Prefills in one call attend as they do one after the other, and only where that was proven."""

from __future__ import annotations

import pytest
import torch

from engine.attention.context import AttentionOptions
from engine.attention.flash_prefill import FlashPrefill, find_varlen_attention, varlen_reference
from engine.attention.torch_backend import store_tokens, torch_attention
from engine.kv_cache import LayerCache
from tests.engine.attention_case import BATCHES, run_attention

PLAIN = AttentionOptions(0.25, None, None)
WINDOW = AttentionOptions(0.25, 6, None)


def backend_of(prefill):
    """Decodes by the reference, prefills by `prefill`."""

    def attend(query, key, value, layer_idx, context, options):
        output = torch_attention(query, key, value, layer_idx, context, options)
        layer = context.kv_cache.layers[layer_idx]
        store_tokens(key, value, layer, context.slot_mapping)
        query_lens = context.query_start[1:] - context.query_start[:-1]
        for index in (query_lens > 1).nonzero()[0]:
            output[context.query_start[index] : context.query_start[index + 1]] = torch.nan
        prefill(query, layer, context, options, output)
        return output

    return attend


@pytest.mark.parametrize("options", [PLAIN, WINDOW], ids=["plain", "window"])
@pytest.mark.parametrize("spans", BATCHES.values(), ids=BATCHES.keys())
@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
def test_packed_prefills_agree_with_the_reference(spans, options, num_kv_heads):
    sizes = {"num_heads": 4, "num_kv_heads": num_kv_heads}
    expected, _ = run_attention(torch_attention, spans, options, **sizes)
    prefill = FlashPrefill(varlen_reference)
    for _ in range(2):
        output, _ = run_attention(backend_of(prefill), spans, options, **sizes)
        torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)


def can_attend(attend, options=PLAIN, dtype=torch.bfloat16, value_size=16):
    query = torch.zeros((3, 4, 16), dtype=dtype)
    pool = torch.zeros((2, 8, 2, 16), dtype=dtype)
    layer = LayerCache(pool, pool[..., :value_size])
    return FlashPrefill(attend).can_attend(query, layer, options)


def raising(*arguments, **options):
    raise RuntimeError("no kernel image is available")


def unaligned(query, key, value, cu_seq_q, cu_seq_k, *sizes, **options):
    """Puts the first query beside the first key, as older kernels did."""
    ends = cu_seq_k[:-1] + cu_seq_q.diff()
    keep = torch.cat([torch.arange(a, b) for a, b in zip(cu_seq_k[:-1], ends, strict=True)])
    return varlen_reference(query, key[keep], value[keep], cu_seq_q, cu_seq_q, *sizes, **options)


def unwindowed(*arguments, window_size, **options):
    return varlen_reference(*arguments, window_size=(-1, 0), **options)


def test_what_is_proven_is_used():
    assert can_attend(varlen_reference)
    assert can_attend(varlen_reference, WINDOW, torch.float16)
    assert can_attend(unwindowed)


@pytest.mark.parametrize(
    ("attend", "options"), [(raising, PLAIN), (unaligned, PLAIN), (unwindowed, WINDOW)]
)
def test_what_fails_or_sees_other_tokens_is_not_used(attend, options):
    assert not can_attend(attend, options)


@pytest.mark.parametrize(
    "case",
    [
        {"dtype": torch.float32},
        {"options": AttentionOptions(0.25, None, 20.0)},
        {"options": AttentionOptions(0.25, None, None, torch.zeros(4))},
        {"value_size": 8},
    ],
)
def test_what_flash_attention_cannot_do_is_not_tried(case):
    def never(*arguments, **options):
        raise AssertionError("tried")

    assert not can_attend(never, **case)


def test_each_kind_of_layer_is_tried_once():
    calls = []

    def counted(*arguments, **options):
        calls.append(options["window_size"])
        return varlen_reference(*arguments, **options)

    prefill = FlashPrefill(counted)
    query = torch.zeros((3, 4, 16), dtype=torch.bfloat16)
    pool = torch.zeros((2, 8, 2, 16), dtype=torch.bfloat16)
    for options in (PLAIN, WINDOW, PLAIN, WINDOW):
        assert prefill.can_attend(query, LayerCache(pool, pool), options)
    assert calls == [(-1, 0), (6, 0)]


@pytest.mark.gpu
@pytest.mark.parametrize("options", [PLAIN, WINDOW], ids=["plain", "window"])
def test_torchs_own_function_agrees_on_the_device(options):
    attend = find_varlen_attention()
    if attend is None:
        pytest.skip("this torch has no such function")
    sizes = {"num_heads": 4, "num_kv_heads": 2, "dtype": torch.bfloat16, "device": "cuda"}
    spans = BATCHES["decodes and prefill"]
    expected, _ = run_attention(torch_attention, spans, options, **sizes)
    output, _ = run_attention(backend_of(FlashPrefill(attend)), spans, options, **sizes)
    torch.testing.assert_close(output, expected, atol=3e-2, rtol=3e-2)
