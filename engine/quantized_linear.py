"""Int8Linear, Int4Linear: linear layers that keep their weights in 8 or 4 bits.

Weights alone are quantised: each is restored to the model's dtype when it is used, and everything
else is computed as before. So a row's result depends on that row alone, as without quantisation.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import nn
from torch.nn import functional

_INT8_MAX: Final = 127
_INT4_BLOCK_SIZE: Final = 64


class Int8Linear(nn.Module):
    """`nn.Linear` for inference: int8 weights, one scale an output (about 8 bits a weight).

    Symmetric, to the nearest: a weight is off by half of its row's largest over 127 at most.

    Args:
        linear: the layer to take over, on the device where this one will be.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        largest = weight.abs().amax(dim=1, keepdim=True)
        # Rounded to the dtype first: so the weights are the nearest to what will be multiplied.
        self._scale = (largest / _INT8_MAX).clamp(min=torch.finfo(weight.dtype).tiny)
        rounded = (weight.float() / self._scale.float()).round_().clamp_(-_INT8_MAX, _INT8_MAX)
        self._packed = rounded.to(torch.int8)
        self.bias = linear.bias

    @property
    def num_bytes(self) -> int:
        """Of the weights."""
        return self._packed.nbytes + self._scale.nbytes

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """(..., in_features) -> (..., out_features)."""
        weight = self._packed.to(self._scale.dtype).mul_(self._scale)
        return functional.linear(rows, weight, self.bias)


class Int4Linear(nn.Module):
    """`nn.Linear` for inference: NF4 weights by bitsandbytes (about 4.5 bits a weight).

    A weight is one of 16 quantiles of the normal distribution, times the largest of its 64
    neighbours (Dettmers et al., QLoRA, arXiv:2305.14314, section 3).

    Args:
        linear: the layer to take over, on the device where this one will be.
    """

    def __init__(self, linear: nn.Linear) -> None:
        from bitsandbytes import functional as packing  # an extra; slow to import

        super().__init__()
        self._packed, self._state = packing.quantize_4bit(
            linear.weight.detach(), blocksize=_INT4_BLOCK_SIZE, quant_type="nf4"
        )
        self.bias = linear.bias

    @property
    def num_bytes(self) -> int:
        """Of the weights."""
        return int(self._packed.nbytes + self._state.absmax.nbytes)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """(..., in_features) -> (..., out_features)."""
        from bitsandbytes import matmul_4bit  # imported already

        output: torch.Tensor = matmul_4bit(
            rows, self._packed.t(), quant_state=self._state, bias=self.bias
        )
        return output
