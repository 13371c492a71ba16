"""The load guard serves models that it can prove and refuses the others by name."""

from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

from engine.config import EngineConfig
from engine.errors import ModelRefusedError
from engine.load import build_engine, load_engine
from engine.model_folder import context_len
from tests.engine.support import (
    VOCAB_SIZE,
    greedy,
    greedy_by_transformers,
    prompt,
    run_one,
    tiny_model,
)


def refusal(model):
    with pytest.raises(ModelRefusedError) as caught:
        build_engine(model, EngineConfig(), name="tiny")
    return str(caught.value)


def tiny(model_type, **options):
    torch.manual_seed(3)
    config = AutoConfig.for_model(model_type, vocab_size=VOCAB_SIZE, **options)
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()


def test_a_model_outside_the_attention_interface_is_refused():
    bloom = tiny("bloom", hidden_size=32, n_layer=2, n_head=2)
    assert refusal(bloom) == ("BloomForCausalLM does not support transformers' attention interface")


def test_layers_of_an_unknown_type_are_refused():
    model = tiny_model()
    model.config.layer_types = ["linear_attention", "full_attention", "chunked_attention"]
    assert refusal(model) == (
        "LlamaForCausalLM has layers of type chunked_attention, linear_attention; "
        "only full_attention, sliding_attention are served"
    )


def test_what_a_layer_asks_of_attention_beyond_our_options_is_refused():
    model = tiny_model()
    layer = model.model.layers[1].self_attn
    plain = layer.forward
    layer.forward = lambda *args, **keywords: plain(*args, **keywords, position_bias=torch.ones(1))
    assert refusal(model) == "LlamaAttention passes 'position_bias' to its attention, not supported"


def test_a_layer_that_attends_twice_is_refused():
    model = tiny_model()
    layer = model.model.layers[1].self_attn
    once = layer.forward
    layer.forward = lambda *args, **kwargs: (once(*args, **kwargs), once(*args, **kwargs))[1]
    assert refusal(model) == (
        "LlamaForCausalLM ran our attention 2 times in layer 1; it must be once"
    )


def test_a_model_that_computes_something_else_under_our_attention_is_refused():
    model = tiny_model()
    layer = model.model.layers[2].self_attn
    right = layer.forward

    def different_under_ours(*args, **kwargs):
        if layer.config._attn_implementation != "eager":
            layer.scaling = 2.0
        return right(*args, **kwargs)

    layer.forward = different_under_ours
    assert refusal(model).startswith(
        "LlamaForCausalLM fails the numeric self-test: logits after 10 tokens differ from "
        "transformers' own attention by "
    )


def test_a_model_that_cannot_be_called_our_way_is_refused():
    model = tiny_model()
    forward = model.forward
    model.forward = lambda input_ids, use_cache=False: forward(input_ids, use_cache=use_cache)
    assert refusal(model).startswith("LlamaForCausalLM cannot be run on a flat batch: ")


def test_weights_that_are_not_numbers_are_refused():
    model = tiny_model()
    with torch.no_grad():
        model.model.norm.weight[0] = torch.nan
    assert "fails the numeric self-test" in refusal(model)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
def test_a_folder_is_loaded_in_the_dtype_that_is_asked_for(tmp_path, name):
    model = tiny_model("qwen3").to(getattr(torch, name))
    model.save_pretrained(tmp_path / "tiny-qwen")
    stages: list[str] = []
    engine = load_engine(tmp_path / "tiny-qwen", EngineConfig(dtype=name), stages.append)
    assert stages == ["weights", "self-test", "KV pool"]
    info = engine.info
    assert (info.name, info.architecture, info.dtype) == ("tiny-qwen", "Qwen3ForCausalLM", name)
    assert (info.padded_vocab_size, info.eos_token_ids) == (VOCAB_SIZE, (2,))
    assert info.device == "cpu"
    assert info.num_parameters == model.num_parameters()
    if name == "float32":
        expected = greedy_by_transformers(tiny_model("qwen3"), prompt(12), 8)
        assert run_one(engine, prompt(12), greedy(8)).token_ids == expected


def test_weights_that_are_not_safetensors_are_refused(tmp_path):
    tiny_model().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelRefusedError, match="cannot be loaded"):
        load_engine(tmp_path, EngineConfig())


def test_missing_weights_are_refused_and_not_made_up(tmp_path):
    tiny_model().save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.layers.1.self_attn.q_proj.weight"], weights["model.norm.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelRefusedError) as caught:
        load_engine(tmp_path, EngineConfig())
    assert str(caught.value) == (
        f"{tmp_path.name} lacks 2 of the model's weights, model.layers.1.self_attn.q_proj.weight "
        "first; its files are incomplete or of another architecture"
    )


def test_tied_weights_are_not_missing(tmp_path):
    tiny_model(tie_word_embeddings=True).save_pretrained(tmp_path)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    load_engine(tmp_path, EngineConfig()).close()


@pytest.mark.parametrize("fault", ["cut short", "of another shape"])
def test_damaged_weights_are_refused(tmp_path, fault):
    tiny_model().save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    if fault == "cut short":
        path.write_bytes(path.read_bytes()[:-1000])
    else:
        weights = load_file(path)
        weights["model.norm.weight"] = weights["model.norm.weight"][:5].clone()
        save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(ModelRefusedError, match="cannot be loaded"):
        load_engine(tmp_path, EngineConfig())


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(ModelRefusedError, match="cannot be loaded"):
        load_engine(tmp_path, EngineConfig())


@pytest.mark.parametrize(
    ("rope", "expected"),
    [
        ({"rope_type": "default", "rope_theta": 1e4}, 256),
        ({"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0}, 256),
        (
            {
                "rope_type": "longrope",
                "rope_theta": 1e4,
                "short_factor": [1.0] * 8,
                "long_factor": [2.0] * 8,
                "original_max_position_embeddings": 64,
            },
            64,
        ),
    ],
)
def test_the_context_ends_where_rope_would_look_at_the_whole_batch(rope, expected):
    assert context_len(tiny_model("llama", rope_parameters=rope)) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"num_attention_heads": 0},
        {"max_position_embeddings": "many"},
        {"eos_token_id": [["x"]]},
        {"vocab_size": 10**13},
        {"hidden_size": -4},
    ],
)
def test_a_config_that_cannot_be_is_refused(tmp_path, change):
    tiny_model().save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ModelRefusedError, match="cannot be loaded"):
        load_engine(tmp_path, EngineConfig())
