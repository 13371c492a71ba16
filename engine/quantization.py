"""Quantization: a model's linear layers replaced by smaller ones, each proven on its device."""

from __future__ import annotations

from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

import torch
from torch import nn

from engine.errors import InvalidConfigError, ModelRefusedError
from engine.packed_linear import PackedLinear
from engine.quantized_linear import Int4Linear, Int8Linear

if TYPE_CHECKING:
    from collections.abc import Mapping

    from transformers import PreTrainedModel

    from engine.config import Quantization

_LAYERS: Final[Mapping[str, type[Int8Linear | Int4Linear]]] = MappingProxyType(
    {"int8": Int8Linear, "int4": Int4Linear}
)

_MAX_ERROR: Final[Mapping[str, float]] = MappingProxyType({"int8": 0.1, "int4": 0.3})
"""Of a layer's result for random rows: norm of the difference over norm. Weights that are normally
distributed measure 0.006 and 0.09, the layers of our built-in models up to 0.04 and 0.13; a kernel
that is wrong comes to 1 and more."""

_PROBE_ROWS: Final = 4


def check_quantization(quantization: Quantization, device: torch.device) -> None:
    """Find out, before anything is loaded, whether this machine can do it.

    Raises:
        InvalidConfigError: a library is missing, or cannot compute on the device.
    """
    if quantization == "none":
        return
    if quantization == "int4" and find_spec("bitsandbytes") is None:
        raise InvalidConfigError(
            "quantization",
            quantization,
            "needs bitsandbytes, which is not installed: pip install bitsandbytes; "
            "int8 needs nothing",
        )
    try:
        with torch.inference_mode():
            layer = _LAYERS[quantization](nn.Linear(64, 64, device=device))
            layer(torch.zeros((1, 64), device=device))
    except (RuntimeError, ImportError, NotImplementedError, AttributeError) as error:
        raise InvalidConfigError(
            "quantization",
            quantization,
            f"cannot be computed on {device} ({error}); serve without it, or on another device",
        ) from error


@torch.inference_mode()
def quantize_linear_layers(
    model: PreTrainedModel, quantization: Literal["int8", "int4"], device: torch.device
) -> None:
    """Replace every plain `nn.Linear` of a model but its output head, in place.

    One layer at a time goes to the device and becomes small there, so that the whole model need not
    fit. Embeddings, norms and the head stay as they are: the head is often the embeddings' own
    tensor, and its errors would go straight into the logits.

    Args:
        model: of plain layers, wherever it is; what is not replaced stays there.
        quantization: what to.
        device: where the new layers shall be.

    Raises:
        InvalidConfigError: the machine cannot do it, or the model has few linear layers to replace.
        ModelRefusedError: a layer computes something else afterwards.
    """
    check_quantization(quantization, device)
    _check_that_weights_are_linear(model, quantization)
    head = model.get_output_embeddings()  # type: ignore[no-untyped-call]
    has_replaced = False
    for path, parent in list(model.named_modules()):
        for name, child in list(parent.named_children()):
            # Exactly nn.Linear: a subclass may do more in its forward.
            if type(child) is nn.Linear and child is not head:
                linear = child.to(device)
                layer = _LAYERS[quantization](linear)
                _check_layer(linear, layer, quantization, f"{path}.{name}")
                setattr(parent, name, layer)
                has_replaced = True
    if not has_replaced:
        raise InvalidConfigError(
            "quantization",
            quantization,
            f"{type(model).__name__} has no plain linear layers: perhaps its folder is quantised "
            "already; serve it without",
        )


def num_weight_bytes(model: nn.Module) -> int:
    """Bytes of all weights, tied ones counted once."""
    plain = {weight.data_ptr(): weight.nbytes for weight in model.parameters()}
    packed = (
        module.num_bytes
        for module in model.modules()
        if isinstance(module, PackedLinear | Int8Linear | Int4Linear)
    )
    return sum(plain.values()) + sum(packed)


def _check_that_weights_are_linear(model: PreTrainedModel, quantization: str) -> None:
    """Refuse models whose weights would mostly stay as they are without anybody noticing."""
    stacked = [name for name, weight in model.named_parameters() if weight.ndim > 2]
    if stacked:
        raise InvalidConfigError(
            "quantization",
            quantization,
            f"{type(model).__name__} has {len(stacked)} weights outside of linear layers, "
            f"{stacked[0]} first, which would stay as they are; serve it without",
        )


def _check_layer(
    linear: nn.Linear, layer: Int8Linear | Int4Linear, quantization: str, name: str
) -> None:
    """Compare both on random rows, the same ones in every run."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn((_PROBE_ROWS, linear.in_features), generator=generator)
    rows = rows.to(linear.weight.device, linear.weight.dtype)
    expected = linear(rows).float()
    difference = float((layer(rows).float() - expected).norm())
    size = float(expected.norm())
    # "not <=" also refuses NaN.
    if not difference <= _MAX_ERROR[quantization] * size:
        raise ModelRefusedError(
            f"{name} does not stand quantization={quantization}: results of size {size:.1e} differ "
            f"by {difference:.1e}; serve the model with more bits"
        )
