"""DecodeBuffers: what a decode step on the device reads and writes, for batches of one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from engine.decode_inputs import DecodeInputs
from engine.device.automata import FREE
from engine.sampler.draw import RowParams, usable_temperature
from engine.step_batch import padded_tables
from engine.transfer import copy_from_host

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class DecodingRow:
    """One sequence at the beginning of a burst.

    Args:
        token_id: its last token, not computed yet.
        position: of that token.
        block_ids: with room for all tokens of the burst.
        state: of the resident automata.
        temperature: 0: greedy.
        min_p: see `SamplingParams`.
        uniforms: a random number in [0, 1) for each step.
    """

    token_id: int
    position: int
    block_ids: Sequence[int]
    state: int
    temperature: float
    min_p: float
    uniforms: Sequence[float]


class DecodeBuffers:
    """The tensors of a decode step; filled in place, none of them is ever replaced.

    Args:
        size: sequences of a batch.
        max_blocks: blocks of the longest sequence.
        max_steps: of one burst.
        vocab_size: columns of the logits.
        device: of the model.
    """

    def __init__(
        self, size: int, max_blocks: int, max_steps: int, vocab_size: int, device: torch.device
    ) -> None:
        def zeros(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.inputs = DecodeInputs(size, max_blocks, device)
        self.states = zeros((size,), torch.int32)
        self.is_live = zeros((size,), torch.int32)
        self.is_greedy = zeros((size,), torch.bool)
        self.uniforms = zeros((max_steps, size), torch.float64)
        self.step = zeros((1,), torch.int64)
        self.chosen = zeros((max_steps, size), torch.int64)
        self.is_usable = zeros((max_steps, size), torch.bool)
        self.params = RowParams(
            temperature=torch.ones((size, 1), device=device),
            top_k=torch.full((size, 1), vocab_size, dtype=torch.int64, device=device),
            top_p=torch.ones((size, 1), dtype=torch.float64, device=device),
            min_p=torch.zeros((size, 1), device=device),
            uniform=zeros((size, 1), torch.float64),
            has_min_p=True,
            is_filtered=[False] * size,
        )

    def clear(self) -> None:
        """Make every row padding."""
        self.inputs.clear()
        self.is_live.zero_()
        self.states.fill_(FREE)
        self.step.zero_()

    def load(self, rows: Sequence[DecodingRow]) -> None:
        """Put the sequences in; what is left over pads: it attends to the null block alone."""
        size, num_steps = len(self.states), len(rows[0].uniforms)

        def fill(target: torch.Tensor, values: list[float] | list[int], padding: float) -> None:
            padded = np.full(size, padding, np.float64)
            padded[: len(rows)] = values
            copy_from_host(padded.reshape(target.shape), target)

        self.inputs.load(
            [row.token_id for row in rows],
            [row.position for row in rows],
            padded_tables([row.block_ids for row in rows]),
        )
        fill(self.states, [row.state for row in rows], FREE)
        fill(self.is_live, [1] * len(rows), 0)
        fill(self.is_greedy, [int(row.temperature == 0) for row in rows], 1)
        fill(self.params.temperature, [usable_temperature(row.temperature) for row in rows], 1)
        fill(self.params.min_p, [row.min_p for row in rows], 0.0)
        uniforms = np.zeros((num_steps, size))
        uniforms[:, : len(rows)] = np.array([row.uniforms for row in rows]).T
        copy_from_host(uniforms, self.uniforms[:num_steps])
        self.step.zero_()
