"""Bitmasks: the kernel agrees with the reference, and the constraint always keeps one token."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.device.bitmask import bitmask_width
from engine.device.shaping import shape_logits, shape_logits_reference
from engine.step_masks import fill_row
from tests.engine.support import Script


def random_bitmask(num_rows, vocab_size, share, seed=0):
    bits = np.random.default_rng(seed).random((num_rows, bitmask_width(vocab_size) * 32)) < share
    packed = np.packbits(bits, axis=1, bitorder="little").view(np.int32)
    return torch.from_numpy(packed.copy()), bits[:, :vocab_size]


@pytest.mark.parametrize("vocab_size", [1, 31, 32, 33, 64, 203, 1000])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.99, 1.0])
def test_exactly_the_disallowed_tokens_become_impossible(vocab_size, share):
    logits = torch.randn((4, vocab_size), generator=torch.Generator().manual_seed(1))
    bitmask, is_allowed = random_bitmask(3, vocab_size, share)
    expected = logits.clone()
    row_ids = torch.tensor([1, 0, 1, 2], dtype=torch.int32)
    for row, mask_row in enumerate(row_ids.tolist()):
        expected[row, torch.from_numpy(~is_allowed[mask_row])] = -torch.inf
    for shape in (shape_logits, shape_logits_reference):
        changed = logits.clone()
        shape(changed, bitmask, row_ids, None)
        assert torch.equal(changed, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_logits_that_the_kernel_cannot_read_are_shaped_too(dtype):
    logits = torch.randn((2, 130), generator=torch.Generator().manual_seed(1)).to(dtype)[:, :100]
    bitmask, is_allowed = random_bitmask(1, 100, 0.5)
    changed = logits.clone(memory_format=torch.preserve_format)
    shape_logits(changed, bitmask, torch.zeros(2, dtype=torch.int32), None)
    assert torch.equal(changed.isfinite(), torch.from_numpy(is_allowed).expand(2, -1))


def test_rows_of_a_pool_may_be_wider_than_the_logits():
    logits = torch.zeros((1, 40))
    shape_logits(
        logits,
        torch.tensor([[1, 2, 4]], dtype=torch.int32),
        torch.zeros(1, dtype=torch.int32),
        None,
    )
    assert logits.isfinite().nonzero()[:, 1].tolist() == [0, 33]


@pytest.mark.parametrize(
    ("allowed", "avoided", "expected"),
    [
        ({5, 40}, set(), {5, 40}),
        ({5, 40}, {40}, {5}),
        ({5, 40}, {31, 63}, {5, 40}),
        ({31, 63}, {31}, {63}),
        ({5, 40}, {5, 40}, {5, 40}),
        ({40}, {40, 5}, {40}),
    ],
)
def test_avoided_tokens_are_left_out_unless_nothing_else_is_allowed(allowed, avoided, expected):
    row = np.full(2, -1, np.int32)
    fill_row(row, Script([allowed], complete_from=9), avoided)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    assert set(bits.nonzero()[0].tolist()) == expected
