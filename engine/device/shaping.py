"""shape_logits: biases, suppressed tokens and masks, in one pass over the logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from engine.device.bitmask_kernel import apply_rows
from engine.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BLOCK: Final = 1024


@dataclass(frozen=True, slots=True)
class Adjustments:
    """What is added to single logits, by row; -inf makes a token impossible.

    Args:
        begins: int32, (num_rows + 1,); row i has the entries begins[i] .. begins[i + 1].
        token_ids: int32, (num_entries,), ascending within a row.
        values: float32, (num_entries,).
    """

    begins: torch.Tensor
    token_ids: torch.Tensor
    values: torch.Tensor

    @classmethod
    def from_rows(
        cls, rows: Sequence[Mapping[int, float]], device: torch.device
    ) -> Adjustments | None:
        """One mapping from token to value for each row; None where all are empty."""
        if not any(rows):
            return None
        entries = [sorted(row.items()) for row in rows]
        begins = [0]
        for of_row in entries:
            begins.append(begins[-1] + len(of_row))
        return cls(
            to_device(begins, device, torch.int32),
            to_device([t for row in entries for t, _ in row], device, torch.int32),
            to_device([v for row in entries for _, v in row], device, torch.float32),
        )


def shape_logits(
    logits: torch.Tensor,
    mask_rows: torch.Tensor,
    row_ids: torch.Tensor,
    adjustments: Adjustments | None,
) -> None:
    """Add the adjustments and set the logits of disallowed tokens to -inf, in place.

    Args:
        logits: float, (num_rows, padded_vocab_size), contiguous in a row.
        mask_rows: int32, (num_masks, width), width >= ceil(padded_vocab_size / 32); bit i of word j
            is token 32 * j + i, 1 where it is allowed.
        row_ids: int32, (num_rows,); which of them each row of logits is under.
        adjustments: None: none.
    """
    if logits.device.type != "cpu":
        shape_logits_by_kernel(logits, mask_rows, row_ids, adjustments)
    elif logits.dtype is torch.float32 and logits.is_contiguous():
        if adjustments is not None:
            _adjust(logits, adjustments)
        apply_rows(logits.numpy(), mask_rows.numpy(), row_ids.numpy())
    else:
        shape_logits_reference(logits, mask_rows, row_ids, adjustments)


def shape_logits_by_kernel(
    logits: torch.Tensor,
    mask_rows: torch.Tensor,
    row_ids: torch.Tensor,
    adjustments: Adjustments | None,
) -> None:
    """The same as `shape_logits`, by the Triton kernel."""
    from engine.device.logits_kernel import shape_rows  # only torch's CUDA builds bring triton

    num_rows, vocab_size = logits.shape
    # Where there are no adjustments, any addresses do: they are not read.
    entries = adjustments or Adjustments(row_ids, row_ids, row_ids)
    shape_rows[(num_rows, -(-vocab_size // _BLOCK))](
        logits, mask_rows, row_ids, entries.begins, entries.token_ids, entries.values,
        vocab_size, logits.stride(0), mask_rows.stride(0),
        HAS_ADJUSTMENTS=adjustments is not None, BLOCK=_BLOCK,
    )  # fmt: skip


def shape_logits_reference(
    logits: torch.Tensor,
    mask_rows: torch.Tensor,
    row_ids: torch.Tensor,
    adjustments: Adjustments | None,
) -> None:
    """The same as `shape_logits`, in plain torch."""
    if adjustments is not None:
        _adjust(logits, adjustments)
    shifts = torch.arange(32, device=logits.device, dtype=torch.int32)
    words = mask_rows.index_select(0, row_ids)
    is_allowed = ((words[:, :, None] >> shifts) & 1).bool().flatten(1)[:, : logits.shape[1]]
    logits.masked_fill_(~is_allowed, -torch.inf)


def _adjust(logits: torch.Tensor, adjustments: Adjustments) -> None:
    counts = adjustments.begins.diff()
    row = torch.repeat_interleave(torch.arange(len(logits), device=logits.device), counts)
    place = (row, adjustments.token_ids.long())
    logits[place] = (logits[place].float() + adjustments.values).to(logits.dtype)
