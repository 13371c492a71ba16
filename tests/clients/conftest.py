"""The servers that the clients ask, one for each model and run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.clients.serving import serving, write_tiny_model

if TYPE_CHECKING:
    from collections.abc import Iterator

# Clients must ask us alone: no telemetry, no price lists, no keys of the machine's owner.
os.environ |= {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A random model: what it writes is noise, but for what binds it."""
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_model(folder / "model")
    with serving(str(folder / "model"), folder / "log") as url:
        yield url
