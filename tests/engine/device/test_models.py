"""Every supported architecture agrees with eager when the kernels of the device attend."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from engine.attention.cuda_backend import triton_attention
from engine.errors import ModelRefusedError
from engine.load_guard import check_architecture, check_numbers, eager_logits, measure_layers
from tests.engine.support import ARCHITECTURES, tiny_model


def check(model, backend):
    check_architecture(model)
    expected = eager_logits(model)
    shapes = measure_layers(model)
    check_numbers(model, shapes, backend, expected=expected, dtype=torch.float32)


@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_the_model_passes_its_numeric_self_test(model_type, device):
    check(tiny_model(model_type).to(device), triton_attention)


@pytest.mark.parametrize(
    ("model_type", "option"),
    [("gemma2", "softcap"), ("mistral", "sliding_window"), ("gpt_oss", "sinks")],
)
def test_a_kernel_that_ignored_an_option_would_be_refused(model_type, option, device):
    def ignoring(query, key, value, layer_idx, context, options):
        options = dataclasses.replace(options, **{option: None})
        return triton_attention(query, key, value, layer_idx, context, options)

    with pytest.raises(ModelRefusedError, match="fails the numeric self-test"):
        check(tiny_model(model_type).to(device), ignoring)
