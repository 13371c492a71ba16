"""The decode step of a model of Qwen3-0.6B's shape, with random weights, against its floor.

A decode step must read every weight once, so the bytes of the weights over the memory's bandwidth
bound it from below. The bandwidth is measured, by copying.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.attention.cuda_backend import CudaAttention
from engine.decode_buffers import DecodingRow
from engine.decode_graphs import DecodeGraphs
from engine.device.automata import FREE, ResidentAutomata
from engine.device.bitmask import bitmask_width
from engine.forward_graphs import ForwardGraphs
from engine.kv_cache import KVCache
from engine.load_guard import measure_layers
from engine.model_runner import ModelRunner
from engine.step_batch import TokenSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SHAPE: Final = {
    "vocab_size": 151_936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": True,
}
_BLOCK_SIZE: Final = 16
_CONTEXT_LEN: Final = 512
_NUM_STEPS: Final = 64


@dataclass(frozen=True, slots=True)
class DecodeTime:
    """One batch size.

    Args:
        batch_size: sequences, each with 512 tokens of context.
        step_us: wall time of a step, sampling included, within a burst of 64.
        graph_us: of one step as the host takes it: inputs copied, the forward pass as one graph,
            the likeliest tokens waited for.
        launched_us: the same, with each kernel of the forward pass launched by itself.
        floor_us: bytes of the weights over the measured bandwidth.
    """

    batch_size: int
    step_us: float
    graph_us: float
    launched_us: float
    floor_us: float


@torch.inference_mode()
def measure_decode(batch_sizes: Sequence[int]) -> list[DecodeTime]:
    """Measure on the current CUDA device, in bfloat16, greedy."""
    device = torch.device("cuda")
    torch.manual_seed(0)
    config = AutoConfig.for_model("qwen3", **_SHAPE)
    # transformers' classes are untyped.
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)  # type: ignore[no-untyped-call]
    model = model.to(device).eval()
    shapes = measure_layers(model)
    blocks = -(-(_CONTEXT_LEN + _NUM_STEPS) // _BLOCK_SIZE)
    sizes = sorted(batch_sizes)
    kv_cache = KVCache(
        shapes,
        num_blocks=blocks * sizes[-1],
        block_size=_BLOCK_SIZE,
        dtype=torch.bfloat16,
        device=device,
    )
    vocab_size = _SHAPE["vocab_size"]
    bursts = DecodeGraphs(
        model,
        kv_cache,
        CudaAttention(),
        ResidentAutomata(bitmask_width(vocab_size), max_bytes=2**24, device=device),
        batch_sizes=sizes,
        max_blocks=blocks,
        max_steps=_NUM_STEPS,
        vocab_size=vocab_size,
    )
    graphs = ForwardGraphs(
        model, kv_cache, CudaAttention(), sizes=sizes, max_blocks=blocks, vocab_size=vocab_size
    )
    captured = ModelRunner(model, kv_cache, CudaAttention(), graphs=graphs)
    launched = ModelRunner(model, kv_cache, CudaAttention())
    weight_bytes = sum(p.numel() * p.element_size() for p in model.parameters())
    floor_us = weight_bytes / _bandwidth() * 1e6
    return [
        DecodeTime(
            size,
            step_us=_burst_us(bursts, size, blocks),
            graph_us=_host_step_us(captured, size, blocks),
            launched_us=_host_step_us(launched, size, blocks),
            floor_us=floor_us,
        )
        for size in batch_sizes
    ]


def _block_ids(index: int, blocks: int) -> range:
    return range(1 + index * blocks, 1 + (index + 1) * blocks)


def _burst_us(bursts: DecodeGraphs, batch_size: int, blocks: int) -> float:
    rows = [
        DecodingRow(
            token_id=7 + index,
            position=_CONTEXT_LEN,
            block_ids=_block_ids(index, blocks),
            state=FREE,
            temperature=0,
            min_p=0,
            uniforms=[0.0] * _NUM_STEPS,
        )
        for index in range(batch_size)
    ]
    return _mean_us(lambda: bursts.run(rows), repeats=5) / _NUM_STEPS


def _host_step_us(runner: ModelRunner, batch_size: int, blocks: int) -> float:
    spans = [
        TokenSpan([7 + index], _CONTEXT_LEN, _block_ids(index, blocks), num_logits=1)
        for index in range(batch_size)
    ]
    return _mean_us(lambda: runner.run(spans).argmax(1).tolist(), repeats=50)


def _mean_us(work: Callable[[], object], *, repeats: int) -> float:
    """Microseconds of the work, which waits for the device at its end."""
    for _ in range(2):
        work()
    began = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - began) / repeats * 1e6


def _bandwidth() -> float:
    """Bytes per second that a copy reads and writes."""
    source = torch.empty(2**29, dtype=torch.int32, device="cuda")
    target = torch.empty_like(source)
    start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch's
    end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch's
    target.copy_(source)
    start.record()
    for _ in range(10):
        target.copy_(source)
    end.record()
    torch.cuda.synchronize()
    milliseconds: float = start.elapsed_time(end)
    return 10 * 2 * source.numel() * 4 / (milliseconds / 1e3)
