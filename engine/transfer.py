"""Small things from the host to the device of the logits, without waiting for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


def to_device(
    values: Sequence[int] | Sequence[float] | Sequence[bool] | NDArray[np.generic],
    device: torch.device,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """A tensor of the values.

    From pageable memory a copy to a CUDA device waits for all that is queued there, so the next
    kernels would be launched only when the model has run. From page-locked memory it does not, and
    torch's allocator keeps that memory until the copy has ended.

    Args:
        values: on the host; an array is not copied where the device is the host.
        device: where they are wanted.
        dtype: of the tensor; None: as torch takes the values.
    """
    on_host = torch.as_tensor(values, dtype=dtype)
    if device.type == "cpu":
        return on_host
    return on_host.pin_memory().to(device, non_blocking=True)


def copy_from_host(values: NDArray[np.generic], target: torch.Tensor) -> None:
    """Copy an array into a tensor that stays where it is, without waiting as `to_device` does."""
    on_host = torch.from_numpy(values).to(target.dtype)  # on a device it would wait
    if target.device.type == "cpu":
        target.copy_(on_host)
    else:
        target.copy_(on_host.pin_memory(), non_blocking=True)
