"""Bitmasks: the kernel agrees with the reference, and the constraint always keeps one token."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.mask_buffer import fill_row
from engine.sampler.bitmask import apply_bitmask, apply_bitmask_reference, bitmask_width
from tests.engine.support import Script


def random_bitmask(num_rows, vocab_size, share, seed=0):
    bits = np.random.default_rng(seed).random((num_rows, bitmask_width(vocab_size) * 32)) < share
    packed = np.packbits(bits, axis=1, bitorder="little").view(np.int32)
    return torch.from_numpy(packed.copy()), bits[:, :vocab_size]


@pytest.mark.parametrize("vocab_size", [1, 31, 32, 33, 64, 203, 1000])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.99, 1.0])
def test_exactly_the_disallowed_tokens_become_impossible(vocab_size, share):
    logits = torch.randn((4, vocab_size), generator=torch.Generator().manual_seed(1))
    bitmask, is_allowed = random_bitmask(2, vocab_size, share)
    expected = logits.clone()
    for row, mask_row in ((3, 0), (1, 1)):
        expected[row, torch.from_numpy(~is_allowed[mask_row])] = -torch.inf
    for apply in (apply_bitmask, apply_bitmask_reference):
        changed = logits.clone()
        apply(changed, bitmask, [3, 1])
        assert torch.equal(changed, expected)


def test_a_bitmask_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"bitmask \(1, 2\) does not fit logits \(1, 65\)"):
        apply_bitmask(torch.zeros(1, 65), torch.zeros((1, 2), dtype=torch.int32), [0])


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
