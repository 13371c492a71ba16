"""PackedLinear: a linear layer with its weight in oneDNN's blocked layout, for decoding on the CPU.

Two reasons. It is faster where few rows meet a large weight (measured on 2 AVX2 cores, float32, 8
rows times 576 x 49152: 7.8 ms, plain 23.5 ms). And each row of its result is summed in the same
order whatever the number of rows; the plain path chooses kernels by it (see `batch_invariance`).
"""

from __future__ import annotations

import torch
from torch import nn

_ROWS_HINT = 16
"""Rows that the layout is chosen for; measured best for decode batches of 1 to 32 rows."""


class PackedLinear(nn.Module):
    """`nn.Linear` for inference on the CPU, with a packed weight.

    Args:
        linear: the layer to take over; its weight is copied, its bias shared.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features = linear.in_features
        self.out_features = linear.out_features
        # An opaque tensor that still answers .shape and .dtype, which some modules ask for.
        self.weight = torch.ops.mkldnn._reorder_linear_weight(  # noqa: SLF001  # no public name
            linear.weight.detach(), _ROWS_HINT
        )
        self.bias = None if linear.bias is None else linear.bias.detach()

    @property
    def num_bytes(self) -> int:
        """Of the weight."""
        return int(self.weight.numel() * self.weight.element_size())

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """(..., in_features) -> (..., out_features)."""
        output: torch.Tensor = torch.ops.mkldnn._linear_pointwise(  # noqa: SLF001  # no public name
            rows, self.weight, self.bias, "none", [], ""
        )
        return output


def can_pack(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether torch has the packed kernel for this processor and dtype; found out by trying."""
    if device.type != "cpu":
        return False
    try:
        packed = PackedLinear(nn.Linear(16, 16, dtype=dtype))
        with torch.inference_mode():
            packed(torch.zeros((1, 16), dtype=dtype))
    except (RuntimeError, AttributeError):
        return False
    return True


def pack_linear_layers(model: nn.Module) -> None:
    """Replace every plain `nn.Linear` inside `model` by a `PackedLinear`, in place.

    The replaced weights are freed unless they are tied to an embedding.
    """
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            # Exactly nn.Linear: a subclass may do more in its forward.
            if type(child) is nn.Linear:
                setattr(parent, name, PackedLinear(child))
