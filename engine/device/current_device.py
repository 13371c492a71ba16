"""current_device: Triton launches, and CUDA graphs capture, on the thread's current device."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def current_device(device: torch.device) -> AbstractContextManager[None]:
    """Within it `device` is the thread's current one, which need not be where tensors are."""
    return nullcontext() if device.type == "cpu" else torch.cuda.device(device)
