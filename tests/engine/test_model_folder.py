"""A model folder is believed only as far as its weights bear it out, before anything is built."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.config import EngineConfig
from engine.config_check import check_memory
from engine.errors import ModelRefusedError
from engine.load import load_engine
from engine.model_folder import load_model
from engine.weight_headers import WeightHeaders, read_weight_headers
from tests.engine.support import ARCHITECTURES, VOCAB_SIZE, tiny_model

INDEX = "model.safetensors.index.json"


@pytest.fixture
def folder(tmp_path):
    tiny_model().save_pretrained(tmp_path / "m")
    return tmp_path / "m"


def change_config(folder, change: dict[str, Any]) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))


def refusal(folder) -> str:
    with pytest.raises(ModelRefusedError) as caught:
        load_engine(folder, EngineConfig(dtype="float32", num_blocks=4)).close()
    return str(caught.value)


@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_what_transformers_saves_is_loaded(tmp_path, model_type):
    tiny_model(model_type).save_pretrained(tmp_path, max_shard_size=60_000)
    assert (tmp_path / INDEX).exists()
    load_model(tmp_path, dtype=torch.float32)


def test_the_headers_tell_layers_sizes_and_values(folder):
    headers = read_weight_headers(folder)
    weights = load_file(folder / "model.safetensors")
    assert headers.shapes == {name: tuple(weight.shape) for name, weight in weights.items()}
    assert headers.num_values == sum(weight.numel() for weight in weights.values())
    assert (headers.num_layers, headers.largest_size) == (3, VOCAB_SIZE)


LAYERS = "m cannot be loaded: config.json says num_hidden_layers={}, the weights have 3 layers"
SIZES = (
    "m cannot be loaded: config.json says {}, the largest dimension of any weight is "
    f"{VOCAB_SIZE}"
)


def test_frequencies_of_a_kind_of_layer_that_is_not_there_are_nobodys(tmp_path):
    tiny_model("gemma3_text").save_pretrained(tmp_path / "m")
    rope = json.loads((tmp_path / "m" / "config.json").read_text())["rope_parameters"]
    change_config(tmp_path / "m", {"rope_parameters": rope | {"factor": 3}})
    load_engine(tmp_path / "m", EngineConfig(dtype="float32", num_blocks=4)).close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_hidden_layers": 10**9}, LAYERS.format(10**9)),
        ({"num_hidden_layers": 10**9, "layer_types": None}, LAYERS.format(10**9)),
        ({"num_hidden_layers": 4}, LAYERS.format(4)),
        ({"num_hidden_layers": 0}, LAYERS.format(0)),
        ({"num_hidden_layers": -1}, LAYERS.format(-1)),
        ({"num_hidden_layers": 1e9}, LAYERS.format(1e9)),
        ({"num_hidden_layers": True}, LAYERS.format("True")),
        ({"n_layer": 10**9}, LAYERS.format(10**9).replace("num_hidden_layers", "n_layer")),
        ({"vocab_size": 10**13}, SIZES.format(f"vocab_size={10**13}")),
        ({"head_dim": 10**9}, SIZES.format(f"head_dim={10**9}")),
        ({"num_experts": 10**9}, SIZES.format(f"num_experts={10**9}")),
        ({"hidden_size": -4}, SIZES.format("hidden_size=-4")),
        ({"text_config": {"intermediate_size": 204}}, SIZES.format("intermediate_size=204")),
        (
            {"max_position_embeddings": 0},
            "LlamaForCausalLM: config.json says max_position_embeddings=0, which must be a number "
            "of tokens",
        ),
        (
            {
                "rope_parameters": {
                    "rope_type": "dynamic",
                    "rope_theta": 1e4,
                    "factor": 2.0,
                    "original_max_position_embeddings": -3,
                }
            },
            "LlamaForCausalLM: config.json says original_max_position_embeddings=-3, which must be "
            "a number of tokens",
        ),
        (
            {"auto_map": {"AutoModelForCausalLM": "code.Model"}},
            "m cannot be loaded: config.json has 'auto_map': code from a model folder is never "
            "run; use a model that transformers has itself",
        ),
        (
            {"transformers_weights": "other.safetensors"},
            "m cannot be loaded: config.json has 'transformers_weights': weights of another name "
            "are not loaded; call them model.safetensors",
        ),
    ],
)
def test_a_claim_that_the_weights_do_not_bear_out_is_refused(folder, change, message):
    change_config(folder, change)
    assert refusal(folder) == message


def test_layers_that_the_config_is_silent_about_are_refused_and_not_left_out(folder):
    change_config(folder, {"num_hidden_layers": 2, "layer_types": None})
    assert refusal(folder) == (
        "m cannot be loaded: the weights have more layers than config.json says, "
        "model.layers.2.input_layernorm.weight is of none of them"
    )


def test_weights_that_are_no_layer_of_the_model_may_be_left_over(folder):
    weights = load_file(folder / "model.safetensors")
    weights["model.vision.layers.3.q_proj.weight"] = torch.ones(2)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    load_model(folder, dtype=torch.float32)


def test_more_experts_a_token_than_there_are_is_refused_by_name(tmp_path):
    tiny_model("qwen3_moe").save_pretrained(tmp_path / "m")
    change_config(tmp_path / "m", {"num_experts_per_tok": 200})
    assert refusal(tmp_path / "m").startswith("Qwen3MoeForCausalLM cannot be run: ")


def test_an_adapter_is_not_followed_to_another_folder(folder):
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/elsewhere"}')
    assert refusal(folder) == (
        "m cannot be loaded: adapter_config.json names weights elsewhere; merge the adapter into "
        "its model"
    )


def test_weights_that_do_not_fit_into_memory_are_refused(tmp_path):
    headers = WeightHeaders({"a": (10**6, 10**6), "b": (3,)})
    with pytest.raises(ModelRefusedError) as caught:
        check_memory(tmp_path, headers, bytes_per_value=2, free_bytes=10**12)
    assert str(caught.value) == (
        f"{tmp_path.name} cannot be loaded: its weights take 2000000000006 bytes of memory, "
        "1000000000000 are free"
    )
    check_memory(tmp_path, headers, bytes_per_value=2, free_bytes=None)


def test_a_sparse_file_of_huge_weights_is_refused_before_it_is_read(folder):
    """Its header tells the truth of a file that has 8 TB, none of it on the disk."""
    num_bytes = 2 * (2**21) ** 2
    entry = {"dtype": "BF16", "shape": [2**21, 2**21], "data_offsets": [0, num_bytes]}
    header = json.dumps({"model.layers.0.a.weight": entry}).encode()
    path = folder / "model.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(file.tell() + num_bytes)
    change_config(folder, {"num_hidden_layers": 1})
    assert refusal(folder).startswith(
        f"m cannot be loaded: its weights take {2 * num_bytes} bytes of memory, "
    )


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "cut off: it has 0 bytes"),
        (struct.pack("<Q", 10**12), f"its header claims {10**12} bytes of the 0 that follow; "),
        (struct.pack("<Q", 2**64 - 1) + b"{}", f"its header claims {2**64 - 1} bytes of the 2 "),
        (struct.pack("<Q", 2) + b"{x", "not JSON: "),
        (struct.pack("<Q", 200_000) + b"[" * 200_000, "not JSON: "),
        (struct.pack("<Q", 2) + b"[]", "not a JSON object"),
    ],
)
def test_damaged_headers_are_refused(folder, content, reason):
    (folder / "model.safetensors").write_bytes(content)
    assert refusal(folder).startswith(f"m cannot be loaded: model.safetensors: {reason}")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (ENTRY | {"data_offsets": [0, 9]}, "cut off: x lies at 0 to 9 of 8 bytes of data"),
        (ENTRY | {"data_offsets": [-8, 0]}, "cut off: x lies at -8 to 0 of 8 bytes of data"),
        (ENTRY | {"shape": [10**12]}, f"x claims the shape [{10**12}], but has 8 bytes"),
        (ENTRY | {"shape": [-1]}, "the header's entry of x has no shape and offsets"),
        (ENTRY | {"shape": [2.0]}, "the header's entry of x has no shape and offsets"),
        ({"dtype": "F32"}, "the header's entry of x has no shape and offsets"),
        (None, "the header's entry of x has no shape and offsets"),
    ],
)
def test_entries_that_cannot_be_are_refused(folder, entry, reason):
    header = json.dumps({"x": entry}).encode()
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    assert refusal(folder) == f"m cannot be loaded: model.safetensors: {reason}"


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        ({}, "no 'weight_map'"),
        ({"weight_map": {"x": "../m2/model.safetensors"}}, "'../m2/model.safetensors' is not the"),
        ({"weight_map": {"x": "/etc/passwd"}}, "'/etc/passwd' is not the name of a file in this"),
        ({"weight_map": {"x": 3}}, "3 is not the name of a file in this folder"),
        ([], "not a JSON object"),
    ],
)
def test_an_index_names_files_of_its_own_folder(folder, index, reason):
    (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
    (folder / INDEX).write_text(json.dumps(index))
    assert refusal(folder).startswith(f"m cannot be loaded: {INDEX}: {reason}")


def test_a_file_that_the_index_names_must_be_there(folder):
    (folder / "model.safetensors").unlink()
    (folder / INDEX).write_text('{"weight_map": {"x": "gone.safetensors"}}')
    assert refusal(folder) == "m cannot be loaded: gone.safetensors: No such file or directory"


def test_a_config_of_a_gigabyte_is_not_read(folder):
    with (folder / "config.json").open("ab") as file:
        file.truncate(2**30)
    assert refusal(folder) == (
        f"m cannot be loaded: config.json: {2**30} bytes; at most {64 * 2**20} are read"
    )
