"""One torch thread: small matrices are slower on two, and the machines of CI are shared."""

from __future__ import annotations

import pytest
import torch

from tests.engine.support import tiny_engine


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def engine():
    """A tiny llama behind an engine that all tests of a module share."""
    built = tiny_engine(max_num_seqs=16, max_num_batched_tokens=64)
    yield built
    assert not built.has_unfinished, "a test left requests behind"
    assert built.stats().num_free_blocks == built.config.num_blocks, "a test leaked blocks"
    built.close()
