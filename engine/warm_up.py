"""Kernels that compile at their first call are called while the model loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from engine.block_pool import NULL_BLOCK
from engine.device.bitmask import bitmask_width
from engine.request import SamplingParams
from engine.sampler.sampler import sample
from engine.sampler.state import SamplingState
from engine.step_batch import TokenSpan

if TYPE_CHECKING:
    from engine.model_runner import ModelRunner

_LENGTHS: Final = (1, 512, 1024, 2048, 4096)
"""Tokens from which on the decode kernel cuts a sequence's keys into 1, 2, 4, 8 and 16 slices;
see `engine.attention.cuda_backend`."""


def warm_up_sampler(padded_vocab_size: int, device: torch.device) -> None:
    """Compile what the sampler needs, with biases and without."""
    mask = torch.full((2, bitmask_width(padded_vocab_size)), -1, dtype=torch.int32, device=device)
    for logit_bias in ({}, {0: 1.0}):
        params = SamplingParams(max_tokens=1, top_k=2, seed=0, logit_bias=logit_bias)
        sample(
            torch.zeros((1, padded_vocab_size), device=device),
            [SamplingState(params, ())],
            suppressed={},
            mask_rows=mask,
            row_ids=[1],
        )


def warm_up_decoding(runner: ModelRunner, *, block_size: int, max_model_len: int) -> None:
    """Decode behind texts of the lengths for which a device has kernels of their own.

    Only the null block is read and written, which belongs to nobody.
    """
    for length in _LENGTHS:
        if length <= max_model_len:
            blocks = [NULL_BLOCK] * -(-length // block_size)
            runner.run([TokenSpan([0], length - 1, blocks, num_logits=1)])
