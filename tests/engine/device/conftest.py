"""Where the device's kernels are tested: see `tests/conftest.py` for the interpreter."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("triton")


@pytest.fixture(scope="session")
def device():
    """CUDA where there is a device, else the CPU under Triton's interpreter."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
