"""Weights in 8 and 4 bits: close to the full ones, smaller, and as exact about everything else."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

from engine import quantization
from engine.config import EngineConfig
from engine.errors import InvalidConfigError, ModelRefusedError
from engine.load import build_engine
from engine.model_folder import load_model
from engine.output import FinishReason
from engine.quantization import num_weight_bytes, quantize_linear_layers
from engine.quantized_linear import Int4Linear, Int8Linear
from engine.request import Request, SamplingParams
from grammars.compile import compile_grammar
from grammars.spec import JsonSchema
from tests.engine.support import greedy, prompt, run_all, tiny_model
from tests.support.tokenizers import tiny_vocabulary

CPU = torch.device("cpu")
KINDS = ("int8", "int4")


@pytest.fixture(autouse=True)
def bitsandbytes_if_needed(request):
    if "int4" in request.node.name:
        pytest.importorskip("bitsandbytes")


def quantized(kind, model_type="llama", **options):
    model = tiny_model(model_type, **options)
    return build_engine(model, EngineConfig(quantization=kind, max_num_seqs=16), name="tiny")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_an_int8_weight_is_the_nearest_of_its_row_and_zero_rows_stay_zero(dtype):
    linear = nn.Linear(64, 32, dtype=dtype).requires_grad_(False)
    linear.weight[3] = 0
    layer = Int8Linear(linear)
    rows = torch.eye(64, dtype=dtype)
    restored = layer(rows).float() - linear.bias.float()
    step = linear.weight.float().abs().amax(1) / 127
    # Half a step, and the rounding of scale, product and bias to the dtype.
    allowed = 0.5 * step + 4 * torch.finfo(dtype).eps
    assert ((restored - linear.weight.float().T).abs() <= allowed).all()
    assert torch.equal(layer(rows)[:, 3], linear.bias[3].expand(64))


@pytest.mark.parametrize(("kind", "least"), [(Int8Linear, 3.9), (Int4Linear, 7.0)], ids=KINDS)
def test_the_bytes_that_are_told_are_those_that_are_kept(kind, least):
    linear = nn.Linear(512, 256).requires_grad_(False)
    layer = kind(linear)
    tensors = [value for value in vars(layer).values() if isinstance(value, torch.Tensor)]
    if kind is Int4Linear:
        tensors.append(layer._state.absmax)
    assert layer.num_bytes == sum(tensor.nbytes for tensor in tensors)
    assert linear.weight.nbytes / layer.num_bytes > least


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model_type", ["llama", "qwen2", "gemma2"])
def test_the_model_computes_with_the_restored_weights_and_they_are_small(kind, model_type):
    token_ids = torch.tensor([prompt(20)])
    model, restored = (tiny_model(model_type, tie_word_embeddings=True) for _ in range(2))
    num_bytes = num_weight_bytes(model)
    quantize_linear_layers(model, kind, CPU)
    with torch.inference_mode():
        for name, layer in model.named_modules():
            if isinstance(layer, Int8Linear | Int4Linear):
                linear = restored.get_submodule(name)
                assert isinstance(linear, nn.Linear)
                rows: torch.Tensor = layer(torch.eye(linear.in_features))
                linear.weight.copy_((rows if layer.bias is None else rows - layer.bias).T)
        logits, expected = model(token_ids).logits, restored(token_ids).logits
    # Rounding of float32 through three layers.
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()
    head = num_weight_bytes(model.get_input_embeddings())
    assert num_weight_bytes(model) - head < (0.3 if kind == "int8" else 0.2) * (num_bytes - head)


@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_tells_what_it_holds(kind):
    plain, small = quantized("none").info, quantized(kind).info
    assert (plain.quantization, small.quantization) == ("none", kind)
    assert small.num_weight_bytes < 0.6 * plain.num_weight_bytes
    assert small.num_parameters == plain.num_parameters
    assert small.dtype == "float32"


@pytest.mark.parametrize("kind", KINDS)
def test_each_of_a_batch_gets_what_it_gets_alone(kind):
    engine = quantized(kind)
    assert engine.info.is_batch_invariant
    requests = [Request(str(i), prompt(3 + i, i), greedy(12)) for i in range(16)]
    together = run_all(engine, requests)
    for request in requests[::5]:
        alone = run_all(engine, [request])[request.request_id]
        assert alone.token_ids == together[request.request_id].token_ids


@pytest.mark.parametrize("kind", KINDS)
def test_a_constrained_text_is_valid(kind):
    vocabulary = tiny_vocabulary()
    schema = '{"type": "array", "items": {"enum": ["a", 12, null]}, "minItems": 2, "maxItems": 3}'
    grammar = compile_grammar(JsonSchema(schema), vocabulary)
    engine = quantized(
        kind, vocab_size=vocabulary.padded_size, eos_token_id=vocabulary.end_token_ids[0]
    )
    request = Request("only", prompt(9), SamplingParams(60, seed=1), grammar.matcher())
    finished = run_all(engine, [request])["only"]
    assert finished.finish_reason is FinishReason.STOP
    text = b"".join(vocabulary.token_bytes[token_id] for token_id in finished.token_ids)
    document = json.loads(text)
    assert 2 <= len(document) <= 3
    assert all(item in ("a", 12, None) for item in document)


@pytest.mark.model
@pytest.mark.parametrize(("kind", "bound", "share"), [("int8", 0.05, 0.42), ("int4", 0.4, 0.33)])
def test_smollm2_stays_itself(kind, bound, share, smollm2_folder):
    """The bounds are of the largest logit, on average over the places of a text."""
    token_ids = torch.tensor([[504, 2953, 8713, 19446, 30, 198, 504, 3575, 282, 260, 905, 314]])
    model = load_model(smollm2_folder, dtype=torch.float32)
    with torch.inference_mode():
        expected = model(token_ids).logits[0]
        num_bytes = num_weight_bytes(model)
        quantize_linear_layers(model, kind, CPU)
        logits = model(token_ids).logits[0]
    difference = (logits - expected).abs().amax(1) / expected.abs().amax(1)
    assert difference.mean() < bound
    assert num_weight_bytes(model) < share * num_bytes


def test_int4_without_its_library_is_refused_before_anything_is_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(quantization, "find_spec", lambda name: None)
    with pytest.raises(InvalidConfigError) as caught:
        quantization.check_quantization("int4", CPU)
    assert str(caught.value) == (
        "quantization=int4: needs bitsandbytes, which is not installed: "
        "pip install bitsandbytes; int8 needs nothing"
    )


def test_a_device_that_cannot_compute_it_is_refused(monkeypatch):
    def broken(self, rows):
        raise RuntimeError("no kernel image is available")

    monkeypatch.setattr(Int8Linear, "forward", broken)
    with pytest.raises(InvalidConfigError) as caught:
        quantization.check_quantization("int8", CPU)
    assert str(caught.value) == (
        "quantization=int8: cannot be computed on cpu (no kernel image is available); "
        "serve without it, or on another device"
    )


def test_weights_that_would_stay_as_they_are_refuse_the_model():
    with pytest.raises(InvalidConfigError) as caught:
        quantized("int8", "gpt_oss")
    message = str(caught.value)
    assert message.startswith("quantization=int8: GptOssForCausalLM has ")
    assert message.endswith(" first, which would stay as they are; serve it without")


def test_a_model_whose_linear_layers_are_others_already_is_refused():
    class Other(nn.Linear):
        pass

    model = tiny_model()
    for module in model.model.modules():
        if type(module) is nn.Linear:
            module.__class__ = Other
    with pytest.raises(InvalidConfigError, match="LlamaForCausalLM has no plain linear layers"):
        quantize_linear_layers(model, "int8", CPU)


def test_a_layer_that_computes_something_else_is_refused_by_name(monkeypatch):
    right = Int8Linear.forward
    monkeypatch.setattr(
        Int8Linear,
        "forward",
        lambda self, rows: right(self, rows).roll(1, -1) if rows.shape[-1] == 96 else rows,
    )
    with pytest.raises(ModelRefusedError) as caught:
        quantize_linear_layers(tiny_model(), "int8", CPU)
    message = str(caught.value)
    assert message.startswith("model.layers.0.self_attn.")
    assert " does not stand quantization=int8: results of size " in message


def test_weights_that_are_not_numbers_are_refused():
    model = tiny_model()
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight[0, 0] = torch.nan
    with pytest.raises(ModelRefusedError, match=r"^model.layers.1.mlp.up_proj does not stand"):
        quantize_linear_layers(model, "int8", CPU)
