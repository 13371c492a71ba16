"""The kernel that shapes logits agrees with the torch reference and with the CPU path."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.device.mask_pool import ALL_TOKENS
from engine.device.shaping import (
    Adjustments,
    shape_logits,
    shape_logits_by_kernel,
    shape_logits_reference,
)


def case(num_rows, vocab_size, dtype, device, seed=3):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn((num_rows, vocab_size), generator=generator).to(device, dtype)
    width = -(-vocab_size // 32)
    masks = torch.randint(-(2**31), 2**31 - 1, (5, width), generator=generator, dtype=torch.int64)
    masks = masks.to(torch.int32)
    masks[ALL_TOKENS] = -1
    masks[1] = 0
    masks[1, -1] = 1  # the first token of the last word alone
    row_ids = torch.randint(0, 5, (num_rows,), generator=generator).to(torch.int32)
    row_ids[0] = ALL_TOKENS
    return logits, masks.to(device), row_ids.to(device)


@pytest.mark.parametrize("vocab_size", [32, 203, 1024, 2049])
@pytest.mark.parametrize("num_rows", [1, 7, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("is_adjusted", [False, True])
def test_the_kernel_agrees_with_the_reference(num_rows, vocab_size, dtype, is_adjusted, device):
    logits, masks, row_ids = case(num_rows, vocab_size, dtype, device)
    adjustments = None
    if is_adjusted:
        rows: list[dict[int, float]] = [{} for _ in range(num_rows)]
        rows[0] = {0: 2.5, vocab_size - 1: -7.0, vocab_size // 2: -torch.inf}
        rows[-1] = dict.fromkeys(range(0, vocab_size, 5), 0.5)
        adjustments = Adjustments.from_rows(rows, device)
    expected = logits.clone()
    shape_logits_reference(expected, masks, row_ids, adjustments)
    shape_logits_by_kernel(logits, masks, row_ids, adjustments)
    # Triton's interpreter cuts a float32 to bfloat16 where torch rounds: one eps.
    tolerance = 8e-3 if dtype is torch.bfloat16 else 0
    torch.testing.assert_close(logits, expected, rtol=tolerance, atol=0)
    if not is_adjusted:
        assert logits[0].isfinite().all(), "a row without a constraint has lost a token"


def test_the_reference_masks_as_the_cpu_path_does():
    logits, masks, row_ids = case(6, 203, torch.float32, "cpu")
    expected = logits.clone()
    adjustments = Adjustments.from_rows([{3: 1.0}, {}, {}, {}, {}, {9: -torch.inf}], logits.device)
    shape_logits(expected, masks, row_ids, adjustments)
    shape_logits_reference(logits, masks, row_ids, adjustments)
    assert torch.equal(logits, expected)


def test_adjustments_are_added_and_minus_infinity_suppresses():
    logits = torch.zeros((2, 40))
    everything = torch.full((1, 2), -1, dtype=torch.int32)
    rows = Adjustments.from_rows([{}, {3: 1.5, 39: -torch.inf}], torch.device("cpu"))
    shape_logits_reference(logits, everything, torch.zeros(2, dtype=torch.int32), rows)
    assert not logits[0].any()
    expected = np.zeros(40)
    expected[[3, 39]] = 1.5, -np.inf
    assert logits[1].tolist() == expected.tolist()
