"""The CPU kernel agrees with the torch reference, and each row depends on its own sequence only."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.attention.context import AttentionContext, AttentionOptions
from engine.attention.cpu_backend import CpuAttention
from engine.attention.torch_backend import torch_attention
from engine.kv_cache import KVCache, LayerShape

BLOCK_SIZE = 8
NUM_BLOCKS = 64

# (new tokens, tokens in all) of each sequence of a batch
BATCHES = {
    "one decode": [(1, 1)],
    "decodes of many lengths": [(1, 1), (1, 7), (1, 8), (1, 9), (1, 100)],
    "whole prompts": [(5, 5), (23, 23)],
    "chunks after chunks": [(5, 20), (16, 40)],
    "decodes and prefill": [(1, 33), (12, 12), (1, 2), (7, 30)],
}

OPTIONS = {
    "plain": AttentionOptions(scaling=0.25, sliding_window=None, softcap=None),
    "window": AttentionOptions(scaling=0.25, sliding_window=6, softcap=None),
    "softcap": AttentionOptions(scaling=0.7, sliding_window=None, softcap=1.5),
    "window and softcap": AttentionOptions(scaling=0.7, sliding_window=11, softcap=1.5),
}


def run(
    backend,
    spans,
    options,
    *,
    num_heads,
    num_kv_heads,
    key_size=16,
    value_size=16,
    padding=3,
    garbage=0.5,
):
    """Attend `spans` in a pool of random content; the same content for the same arguments.

    `garbage` is what slots hold that belong to no token.
    """
    generator = torch.Generator().manual_seed(5)
    kv_cache = KVCache(
        [LayerShape(num_kv_heads, key_size, value_size)],
        num_blocks=NUM_BLOCKS,
        block_size=BLOCK_SIZE,
        dtype=torch.float32,
        device=torch.device("cpu"),
    )
    for pool in (kv_cache.layers[0].key, kv_cache.layers[0].value):
        pool.normal_(generator=generator)
    block_ids = (torch.randperm(NUM_BLOCKS, generator=generator) + 1).tolist()
    block_tables = np.zeros((len(spans), 16), np.int32)
    slots, stored = [], []
    for row, (new, length) in enumerate(spans):
        for index in range(-(-length // BLOCK_SIZE)):
            block_tables[row, index] = block_ids.pop()
        of_sequence = [
            int(block_tables[row, position // BLOCK_SIZE]) * BLOCK_SIZE + position % BLOCK_SIZE
            for position in range(length)
        ]
        slots += of_sequence[length - new :]
        stored += of_sequence[: length - new]
    is_garbage = torch.ones((NUM_BLOCKS + 1) * BLOCK_SIZE, dtype=torch.bool)
    is_garbage[stored] = False
    for pool in (kv_cache.layers[0].key, kv_cache.layers[0].value):
        pool.flatten(0, 1)[is_garbage] = garbage
    num_tokens = len(slots) + padding
    query = torch.randn((num_heads, num_tokens, key_size), generator=generator).transpose(0, 1)
    key = torch.randn((num_tokens, num_kv_heads, key_size), generator=generator)
    value = torch.randn((num_tokens, num_kv_heads, value_size), generator=generator)
    context = AttentionContext(
        kv_cache=kv_cache,
        backend=backend,
        query_start=np.cumsum([0] + [new for new, _ in spans]).astype(np.int32),
        seq_lens=np.array([length for _, length in spans], np.int32),
        block_tables=block_tables,
        slot_mapping=torch.tensor(slots + [0] * padding),
        device_block_tables=torch.from_numpy(block_tables),
    )
    return backend(query, key, value, 0, context, options), kv_cache.layers[0]


@pytest.mark.parametrize("spans", BATCHES.values(), ids=BATCHES.keys())
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(4, 4), (6, 2), (4, 1)])
def test_the_cpu_kernel_agrees_with_the_reference(spans, options, num_heads, num_kv_heads):
    heads = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
    expected, expected_pool = run(torch_attention, spans, options, **heads)
    output, pool = run(CpuAttention(2), spans, options, **heads)
    # float32 sums of up to 100 terms in another order: a few eps (1.2e-7) of values about 1.
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(pool.key[1:], expected_pool.key[1:])
    assert torch.equal(pool.value[1:], expected_pool.value[1:])


def test_keys_and_values_may_differ_in_size():
    sizes = {"num_heads": 4, "num_kv_heads": 2, "key_size": 24, "value_size": 16}
    spans, options = BATCHES["decodes and prefill"], OPTIONS["plain"]
    expected, _ = run(torch_attention, spans, options, **sizes)
    output, _ = run(CpuAttention(1), spans, options, **sizes)
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", [CpuAttention(1), torch_attention], ids=["cpu", "torch"])
def test_padding_rows_are_zero_and_touch_only_the_null_block(backend):
    heads = {"num_heads": 4, "num_kv_heads": 2}
    output, pool = run(backend, [(1, 9)], OPTIONS["plain"], padding=5, **heads)
    unpadded, unpadded_pool = run(backend, [(1, 9)], OPTIONS["plain"], padding=0, **heads)
    assert output.shape == (6, 4, 16)
    assert torch.equal(output[1:], torch.zeros(5, 4, 16))
    assert not torch.equal(pool.key[0], unpadded_pool.key[0])
    assert unpadded.shape == (1, 4, 16)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("num_threads", [1, 2, 3])
def test_rows_are_the_same_bits_however_the_work_is_shared(options, num_threads, monkeypatch):
    monkeypatch.setattr("engine.attention.cpu_backend._MIN_MULTIPLICATIONS_PER_SHARE", 1000)
    spans = BATCHES["decodes and prefill"]
    expected, _ = run(CpuAttention(1), spans, options, num_heads=6, num_kv_heads=2)
    output, _ = run(CpuAttention(num_threads), spans, options, num_heads=6, num_kv_heads=2)
    assert torch.equal(output, expected)


@pytest.mark.parametrize("backend", [CpuAttention(1), torch_attention], ids=["cpu", "torch"])
@pytest.mark.parametrize("spans", BATCHES.values(), ids=BATCHES.keys())
@pytest.mark.parametrize("garbage", [torch.nan, torch.inf])
def test_what_a_block_held_before_is_never_seen(backend, spans, garbage):
    heads = {"num_heads": 4, "num_kv_heads": 2, "padding": 0}
    for options in OPTIONS.values():
        expected, _ = run(backend, spans, options, **heads)
        output, _ = run(backend, spans, options, garbage=garbage, **heads)
        assert torch.equal(output, expected)


def test_not_a_number_stays_in_its_own_sequence():
    def poisoned(query, key, value, layer_idx, context, options):
        key[3] = torch.nan  # the second sequence's first token
        return CpuAttention(1)(query, key, value, layer_idx, context, options)

    output, _ = run(poisoned, [(3, 3), (2, 2)], OPTIONS["plain"], num_heads=4, num_kv_heads=2)
    assert output[:3].isfinite().all()
    assert output[3:5].isnan().all()
