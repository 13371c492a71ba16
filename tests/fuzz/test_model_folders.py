"""Model folders whose config.json is wrong in one place are loaded or refused by name."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import EngineConfig
from engine.errors import ModelRefusedError
from engine.load import load_engine
from server.quiet import quiet_transformers
from tests.engine.support import tiny_model
from tests.fuzz.budget import examples
from tests.fuzz.strategies import JUNK

MODEL_TYPES = ["llama", "qwen3_moe", "gemma3_text"]
CONFIG = EngineConfig(dtype="float32", num_blocks=4)
SIZES = st.sampled_from([-1, 0, 1, 2, 3, 5, 64, 10**9, 10**18, 1e308, float("nan")])


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_configs(model_type, tmp_path):
    quiet_transformers()
    tiny_model(model_type).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    flat = [key for key, value in config.items() if not isinstance(value, dict)]
    rope = [*config["rope_parameters"], "factor", "rope_type", "partial_rotary_factor"]

    @examples(20)
    @given(
        key=st.sampled_from(flat),
        rope_key=st.sampled_from(rope),
        in_rope=st.booleans(),
        value=st.one_of(SIZES, JUNK),
    )
    def load(key, rope_key, in_rope, value):
        changed = config | {"rope_parameters": dict(config["rope_parameters"])}
        part, name = (changed["rope_parameters"], rope_key) if in_rope else (changed, key)
        part[name] = value
        path.write_text(json.dumps(changed))
        with suppress(ModelRefusedError):
            load_engine(tmp_path, CONFIG).close()

    load()
