"""capture: a fixed piece of work on a device, launched as a whole; its sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.cuda import _POOL_HANDLE as GraphPool  # noqa: N811  # torch names it so

_WARM_UP_STEPS: Final = 2
"""Before a capture, so that kernels are compiled and libraries have their workspaces (CUDA C++
Programming Guide, section "CUDA Graphs"; torch.cuda.graph wants a warm-up on a side stream)."""


def graph_pool(device: torch.device) -> GraphPool | None:
    """Memory for graphs that run one after the other and leave nothing in it: they share it."""
    return torch.cuda.graph_pool_handle() if device.type == "cuda" else None


def capture(
    step: Callable[[], None], device: torch.device, pool: GraphPool | None
) -> Callable[[], None]:
    """A callable that does what `step` does: on CUDA by one launch of a graph, else `step` itself.

    Args:
        step: reads and writes the same tensors each time, and does not wait for the device. On CUDA
            it is called a few times here.
        device: the current one.
        pool: from `graph_pool`.

    Raises:
        RuntimeError: the step cannot be captured, since it needs the host or too much memory.
    """
    if device.type != "cuda":
        return step
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch's
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP_STEPS):
            step()
    torch.cuda.current_stream(device).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    # Other threads may do with the device what they like.
    with torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        step()
    return graph.replay


def captured_sizes(max_rows: int, multiple: int = 1) -> list[int]:
    """1, 2, 4, 8, 16, 24, 32, 48, 64, 96 and on to `max_rows`, rounded up to the multiple.

    A step that is padded to the next of them has at most as many rows again.
    """
    sizes = {1, max_rows}
    power = 2
    while power < max_rows:
        sizes |= {power, min(max_rows, power + power // 2)} if power >= 16 else {power}
        power *= 2
    return sorted({-(-size // multiple) * multiple for size in sizes})
