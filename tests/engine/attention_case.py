"""A batch over a paged pool of random content, attended by any backend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from engine.attention.context import AttentionContext
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


def run_attention(
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
    dtype=torch.float32,
    device="cpu",
    num_blocks=NUM_BLOCKS,
    max_blocks=16,
):
    """Attend `spans` in a pool of random content; the same content for the same arguments.

    `garbage` is what slots hold that belong to no token.
    """
    generator = torch.Generator().manual_seed(5)
    kv_cache = KVCache(
        [LayerShape(num_kv_heads, key_size, value_size)],
        num_blocks=num_blocks,
        block_size=BLOCK_SIZE,
        dtype=dtype,
        device=torch.device(device),
    )
    for pool in (kv_cache.layers[0].key, kv_cache.layers[0].value):
        pool.copy_(torch.randn(pool.shape, generator=generator))
    block_ids = (torch.randperm(num_blocks, generator=generator) + 1).tolist()
    block_tables = np.zeros((len(spans), max_blocks), np.int32)
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
    is_garbage = torch.ones((num_blocks + 1) * BLOCK_SIZE, dtype=torch.bool)
    is_garbage[stored] = False
    is_garbage = is_garbage.to(device)
    for pool in (kv_cache.layers[0].key, kv_cache.layers[0].value):
        pool.flatten(0, 1)[is_garbage] = garbage
    num_tokens = len(slots) + padding

    def random(*shape):
        return torch.randn(shape, generator=generator).to(device, dtype)

    query = random(num_heads, num_tokens, key_size).transpose(0, 1)
    key = random(num_tokens, num_kv_heads, key_size)
    value = random(num_tokens, num_kv_heads, value_size)
    if options.sinks is not None:
        options = replace(options, sinks=options.sinks.to(device))
    context = AttentionContext(
        kv_cache=kv_cache,
        backend=backend,
        query_start=np.cumsum([0] + [new for new, _ in spans]).astype(np.int32),
        seq_lens=np.array([length for _, length in spans], np.int32),
        block_tables=block_tables,
        slot_mapping=torch.tensor(slots + [0] * padding, device=device),
        device_block_tables=torch.from_numpy(block_tables).to(device),
        device_seq_lens=torch.tensor([length for _, length in spans], dtype=torch.int32).to(device),
    )
    return backend(query, key, value, 0, context, options), kv_cache.layers[0]
