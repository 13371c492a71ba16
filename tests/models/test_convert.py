"""A converted GGUF is the same model and the same tokenizer, or it is refused by name."""

from __future__ import annotations

import errno
import gzip
import json
import struct
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoTokenizer

from server.models.convert import convert_gguf
from server.models.errors import InvalidModelFileError, ModelError, UnsupportedModelError
from server.models.gguf import GgufFile
from server.models.gguf_tokenizer import GgufTokenizer
from tests.support.silent_progress import SilentProgress
from tests.support.tiny_gguf import (
    NUM_PADDING_ROWS,
    tiny_model,
    tokenizer_keys_of,
    tokens,
    write_gguf,
)

SHARED_TOKENIZERS = Path(__file__).parents[3] / "shared/data/tokenizers"


def convert(source, folder, **options):
    folder.mkdir(exist_ok=True)
    convert_gguf(source, folder, progress=SilentProgress(), **options)
    return folder


@pytest.fixture
def source(tmp_path):
    return tmp_path / "tiny.gguf"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "folder"


def logits_of(model):
    with torch.no_grad():
        return model(torch.arange(3, 40).unsqueeze(0)).logits


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("tied", [False, True])
def test_the_converted_model_computes_the_same_logits(source, folder, architecture, tied):
    model = tiny_model(architecture, tied=tied)
    write_gguf(source, model)
    converted = AutoModelForCausalLM.from_pretrained(convert(source, folder), dtype=torch.float32)
    assert converted.config.tie_word_embeddings is tied
    assert torch.equal(logits_of(model), logits_of(converted))


def test_a_model_larger_than_a_shard_is_written_as_several_files(source, folder):
    model = tiny_model("qwen3")
    write_gguf(source, model)
    convert(source, folder, max_shard_bytes=20_000)
    assert len(list(folder.glob("*.safetensors"))) > 2
    converted = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    assert torch.equal(logits_of(model), logits_of(converted))


def test_a_second_coarser_copy_of_a_tied_matrix_is_dropped(source, folder):
    model = tiny_model("qwen2", tied=True)
    embedding = model.get_parameter("model.embed_tokens.weight")
    better = embedding.detach().numpy().copy()
    noise = np.random.default_rng(0).normal(size=better.shape).astype(np.float32)
    with torch.no_grad():
        embedding.add_(torch.from_numpy(0.02 * noise))
    write_gguf(source, model, output=better)
    converted = AutoModelForCausalLM.from_pretrained(convert(source, folder), dtype=torch.float32)
    assert converted.config.tie_word_embeddings
    kept = converted.get_parameter("model.embed_tokens.weight").detach().numpy()
    assert np.array_equal(kept, better)


def test_the_config_tells_every_end_token_and_the_context_length(source, folder):
    write_gguf(source, tiny_model("llama"))
    convert(source, folder)
    config = json.loads((folder / "config.json").read_text())
    generation = json.loads((folder / "generation_config.json").read_text())
    ends = [tokens().index("<|im_end|>"), tokens().index("<|endoftext|>")]
    assert config["eos_token_id"] == generation["eos_token_id"] == ends
    assert config["max_position_embeddings"] == 128
    assert config["rms_norm_eps"] == 1e-5
    assert config["rope_parameters"]["rope_theta"] == 50_000.0


@pytest.mark.parametrize(
    ("pre", "text", "pieces"),
    [
        ("smollm", "hello  12", ["hello", "ĠĠ", "1", "2"]),  # digits one by one
        ("gpt-2", "hello  12", ["hello", "Ġ", "Ġ", "12"]),
        ("qwen2", "hello  12", ["hello", "Ġ", "Ġ", "1", "2"]),
        ("llama-bpe", "hello  12", ["<|im_start|>", "hello", "Ġ", "Ġ", "12"]),  # begins with bos
        ("qwen2", "e\u0301", ["Ã", "©"]),  # NFC
        ("smollm", "e\u0301", ["e", "Ì", "ģ"]),
        ("smollm", "<|im_end|>", ["<|im_end|>"]),
    ],
)
def test_each_pre_tokenizer_cuts_as_its_family_does(source, folder, pre, text, pieces):
    write_gguf(source, tiny_model("llama"), pre=pre)
    convert(source, folder)
    plain = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text)
    assert plain.tokens == pieces
    assert AutoTokenizer.from_pretrained(folder)(text).input_ids == plain.ids


def test_padding_rows_are_no_tokens(source, folder):
    write_gguf(source, tiny_model("llama"))
    tokenizer = AutoTokenizer.from_pretrained(convert(source, folder))
    assert len(tokenizer) == len(tokens()) - NUM_PADDING_ROWS
    assert "[PAD0]" not in tokenizer.get_vocab()


def test_the_chat_template_comes_along(source, folder):
    write_gguf(source, tiny_model("llama"))
    tokenizer = AutoTokenizer.from_pretrained(convert(source, folder))
    text = tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False)
    assert text == "<|im_start|>user\nhi<|im_end|>\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"pre": "chameleon"},
            "GGUF pre-tokenizer 'chameleon' is not supported: gpt-2, smollm, qwen2, llama-bpe are "
            "rebuilt",
        ),
        (
            {"extra": {"llama.rope.scaling.type": "yarn"}},
            "GGUF key 'llama.rope.scaling.type' is not supported: it changes the model in a way "
            "that is not converted",
        ),
        (
            {"extra": {"llama.expert_count": 8}},
            "GGUF key 'llama.expert_count' is not supported: it changes the model in a way that is "
            "not converted",
        ),
        (
            {"extra": {"llama.rope.dimension_count": 4}},
            "GGUF key 'llama.rope.dimension_count' is not supported: only the head size, 8, is "
            "converted",
        ),
    ],
)
def test_what_is_not_converted_is_refused_by_name(source, folder, options, message):
    write_gguf(source, tiny_model("llama"), **options)
    with pytest.raises(UnsupportedModelError) as refusal:
        convert(source, folder)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("ggml.tokens", "a b", "key 'tokenizer.ggml.tokens' is not a list of texts"),
        ("ggml.token_type", 1, "key 'tokenizer.ggml.token_type' is not a list as long as the tok"),
        ("ggml.eos_token_id", 10**6, "key 'tokenizer.ggml.eos_token_id' is not the id of a token"),
        ("ggml.add_bos_token", 1, "key 'tokenizer.ggml.add_bos_token' is not true or false"),
        ("chat_template", 1, "key 'tokenizer.chat_template' is not a text"),
    ],
)
def test_keys_of_a_tokenizer_that_hold_something_else_are_refused(
    source, folder, key, value, message
):
    write_gguf(source, tiny_model("llama"), extra={f"tokenizer.{key}": value})
    with pytest.raises(InvalidModelFileError) as refusal:
        convert(source, folder)
    assert str(refusal.value).startswith(f"{source}: {message}")


def test_a_tokenizer_of_another_kind_is_refused_by_name(source, folder):
    write_gguf(source, tiny_model("llama"), extra={"tokenizer.ggml.model": "llama"})
    with pytest.raises(UnsupportedModelError) as refusal:
        convert(source, folder)
    assert str(refusal.value) == (
        "GGUF tokenizer 'llama' is not supported: 'gpt2' (byte-level BPE) is rebuilt; use the "
        "model's safetensors folder instead"
    )


def test_an_unknown_architecture_is_refused_by_name(source, folder):
    write_gguf(source, tiny_model("llama"), extra={"general.architecture": "mamba"})
    with pytest.raises(UnsupportedModelError) as refusal:
        convert(source, folder)
    assert str(refusal.value) == (
        "GGUF architecture 'mamba' is not supported: llama, qwen2, qwen3 are converted; use the "
        "model's safetensors folder instead"
    )


def test_a_tensor_without_a_place_is_refused_by_name(source, folder):
    model = tiny_model("llama")
    model.register_buffer("rope_freqs", torch.ones(4))
    write_gguf(source, model)
    with pytest.raises(UnsupportedModelError, match="GGUF tensor 'rope_freqs' is not supported"):
        convert(source, folder)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: b"", "the file is empty"),
        (lambda data: b"NOPE" + data[4:], "not a GGUF file"),
        (lambda data: data[:2000], "cut off inside its header"),
        (lambda data: data[:-64], "cut off: tensor"),
        (lambda data: data[:16] + struct.pack("<Q", 2**60) + data[24:], "cut off inside its"),
    ],
)
def test_a_damaged_file_is_refused(source, folder, damage, reason):
    write_gguf(source, tiny_model("llama"))
    source.write_bytes(damage(source.read_bytes()))
    with pytest.raises(InvalidModelFileError, match=reason):
        convert(source, folder)


@pytest.mark.parametrize("num_blocks", [1, 3, 10**9])
def test_blocks_that_are_not_there_or_not_spoken_of_are_refused(source, folder, num_blocks):
    write_gguf(source, tiny_model("llama"), extra={"llama.block_count": num_blocks})
    with pytest.raises(InvalidModelFileError) as refusal:
        convert(source, folder)
    assert str(refusal.value) == (
        f"{source}: key 'llama.block_count' is {num_blocks}, its tensors are of 2 blocks"
    )


def test_tensors_that_share_their_bytes_are_refused(source, folder):
    """A small file would be converted to a disk full of copies."""
    write_gguf(source, tiny_model("llama"))
    data = source.read_bytes()
    place = data.index(b"blk.1.ffn_up.weight") + len(b"blk.1.ffn_up.weight") + 4 + 2 * 8 + 4
    source.write_bytes(data[:place] + bytes(8) + data[place + 8 :])
    with pytest.raises(InvalidModelFileError, match=r"tensors \S+ and \S+ overlap"):
        convert(source, folder)


def test_a_changed_byte_is_converted_or_refused_but_never_crashes(source, folder):
    write_gguf(source, tiny_model("llama"))
    data = source.read_bytes()
    header_bytes = GgufFile(source).tensors["token_embd.weight"].offset
    random = Random(1)
    outcomes: set[type[ModelError] | None] = set()
    for _ in range(100):
        changed = bytearray(data)
        changed[random.randrange(header_bytes)] ^= 1 << random.randrange(8)
        source.write_bytes(changed)
        try:
            convert(source, folder)
        except ModelError as refusal:
            outcomes.add(type(refusal))
        else:
            outcomes.add(None)
    assert outcomes == {None, InvalidModelFileError, UnsupportedModelError}


def test_every_cut_of_the_header_is_refused(source, folder):
    write_gguf(source, tiny_model("llama"))
    data = source.read_bytes()
    for end in range(1, 4000, 37):
        source.write_bytes(data[:end])
        with pytest.raises(InvalidModelFileError):
            convert(source, folder)


@pytest.mark.parametrize(
    ("family", "pre", "num_padding_rows"), [("smollm2", "smollm", 0), ("qwen2.5", "qwen2", 271)]
)
def test_a_real_tokenizer_comes_back_as_it_was(source, folder, family, pre, num_padding_rows):
    packed = SHARED_TOKENIZERS / family / "tokenizer.json.gz"
    if not packed.is_file():
        pytest.skip(f"the tokenizer of {family} is not on this machine")
    original = json.loads(gzip.decompress(packed.read_bytes()))
    write_gguf(
        source,
        tiny_model("llama"),
        pre=pre,
        tokenizer=tokenizer_keys_of(original, num_padding_rows=num_padding_rows),
    )
    rebuilt = GgufTokenizer.from_gguf(GgufFile(source)).tokenizer_json()
    assert json.dumps(rebuilt) == json.dumps(original)  # the order of keys, too


def test_a_disk_that_fills_up_is_an_error_of_the_system(source, folder, monkeypatch):
    def save_file(*arguments, **options):
        raise SafetensorError("Error while serializing: I/O error: No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", save_file)
    write_gguf(source, tiny_model("llama", tied=True))
    with pytest.raises(OSError, match="No space left on device") as failure:
        convert(source, folder)
    assert failure.value.errno == errno.ENOSPC
