"""Compiles Triton kernels to machine code of a device that is not there, from their own launchers.

Run as a module: the process must not have TRITON_INTERPRET set. Prints, as JSON, a list of kernels
with the bytes of shared memory that each takes.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

if TYPE_CHECKING:
    from collections.abc import Callable

VOCAB_SIZE = 1000


class AbsentDevice:
    """What Triton asks its driver before it compiles."""

    def __init__(self, compute_capability: int) -> None:
        self._target = GPUTarget("cuda", compute_capability, 32)

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0


def compile_all(launch: Callable[[], None]) -> list[dict[str, str | int]]:
    """Compile, and do not run, whatever `launch` launches."""
    compiled: list[dict[str, str | int]] = []
    run = JITFunction.run

    def compile_only(self: Any, *arguments: Any, warmup: bool, **options: Any) -> Any:
        kernel = run(self, *arguments, warmup=True, **options)
        assert kernel.asm["cubin"], "no machine code"
        compiled.append({"name": self.__name__, "shared_bytes": kernel.metadata.shared})
        return kernel

    JITFunction.run = compile_only
    try:
        launch()
    finally:
        JITFunction.run = run
    return compiled


def launch_logits() -> None:
    """Masks alone, and with biases, in both dtypes that the engine gives it."""
    from engine.device.shaping import Adjustments, shape_logits_by_kernel

    masks = torch.zeros((3, -(-VOCAB_SIZE // 32)), dtype=torch.int32)
    row_ids = torch.zeros(2, dtype=torch.int32)
    for dtype in (torch.float32, torch.bfloat16):
        logits = torch.zeros((2, VOCAB_SIZE), dtype=dtype)
        biases = Adjustments.from_rows([{1: 1.0, 7: -torch.inf}, {}], logits.device)
        for adjustments in (None, biases):
            shape_logits_by_kernel(logits, masks, row_ids, adjustments)


def launch_automata() -> None:
    """One step of two sequences."""
    from engine.device.automata import ResidentAutomata, advance_states_by_kernel

    cpu = torch.device("cpu")
    automata = ResidentAutomata(-(-VOCAB_SIZE // 32), max_bytes=2**16, device=cpu)
    states = torch.zeros(2, dtype=torch.int32)
    advance_states_by_kernel(automata.tensors, states, torch.zeros(2, dtype=torch.int64))


def launch_attention() -> None:
    """Decodes of a model like Qwen3, like Gemma 2 in float32, and like gpt-oss."""
    from engine.attention.context import AttentionOptions
    from engine.attention.cuda_backend import _decode
    from engine.kv_cache import LayerCache

    def decode(
        num_heads: int, num_kv_heads: int, size: int, dtype: torch.dtype, **options: Any
    ) -> None:
        pool = torch.zeros((3, 16, num_kv_heads, size), dtype=dtype)
        _decode(
            torch.zeros((2, num_heads, size), dtype=dtype),
            LayerCache(pool, pool),
            torch.zeros((2, 64), dtype=torch.int32),
            torch.ones(2, dtype=torch.int32),
            AttentionOptions(
                **({"scaling": 0.1, "sliding_window": None, "softcap": None} | options)
            ),
        )

    decode(16, 8, 128, torch.bfloat16)
    decode(8, 4, 256, torch.float32, sliding_window=512, softcap=50.0)
    decode(64, 8, 64, torch.bfloat16, sliding_window=128, sinks=torch.zeros(64).bfloat16())


LAUNCHERS = (launch_logits, launch_automata, launch_attention)

if __name__ == "__main__":
    driver.set_active(AbsentDevice(int(sys.argv[1])))
    print(json.dumps([kernel for launch in LAUNCHERS for kernel in compile_all(launch)]))
