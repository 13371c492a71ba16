"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Triton reads this when it is first imported: without a device its kernels are interpreted.
if not Path("/dev/nvidiactl").exists():
    os.environ["TRITON_INTERPRET"] = "1"

from server.models.progress import TerminalProgress
from server.models.resolve import resolve_model

# Clients have environments of their own: `make test-clients`.
collect_ignore = ["clients"]


@pytest.fixture(scope="session")
def smollm2_folder() -> Path:
    """The built-in SmolLM2 as a model folder, downloaded once; for tests marked `model`."""
    return resolve_model("smollm2-135m", progress=TerminalProgress()).path


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model as an ordinary folder."""
    from tests.support.tiny_folder import write_tiny_folder  # slow, and most tests do without

    return write_tiny_folder(tmp_path_factory.mktemp("tiny-model"))


def pytest_configure() -> None:
    """Of several processes (`make test`) one at a time writes a kernel."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        from tests.support.kernel_writers import one_writer_at_a_time

        one_writer_at_a_time()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked `gpu` are skipped where there is no CUDA device."""
    if item.get_closest_marker("gpu") is not None:
        import torch  # slow, and most tests do without

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device")
