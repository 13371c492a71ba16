"""DecodeGraphs: whole decode steps on the device, sampling and constraints included.

One step embeds the last tokens, runs the model, applies the masks of the automata's states, samples
and advances the states, from tensors that never move to the same tensors. So steps follow one
another without the host, and on CUDA a step is captured once for each batch size and replayed.
Elsewhere the very same function runs eagerly: it is what tests compare with the host's path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from engine.decode_buffers import DecodeBuffers
from engine.decode_inputs import run_decodes
from engine.device.automata import advance_states
from engine.device.capture import capture, graph_pool
from engine.device.shaping import shape_logits
from engine.sampler.draw import draw_tokens_by
from engine.sampler.sampler import largest_logits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from transformers import PreTrainedModel

    from engine.attention.context import AttentionBackend
    from engine.decode_buffers import DecodingRow
    from engine.device.automata import ResidentAutomata
    from engine.kv_cache import KVCache


@dataclass(frozen=True, slots=True)
class Burst:
    """The tokens of some steps.

    Args:
        token_ids: int64, (num_steps, num_rows), on the host.
        is_usable: bool, (num_steps, num_rows); False: there was no finite logit to choose from.
    """

    token_ids: torch.Tensor
    is_usable: torch.Tensor


class DecodeGraphs:
    """Runs bursts of decode steps.

    Args:
        model: with our attention set.
        kv_cache: the pool.
        backend: on CUDA it must read nothing from the host when every sequence decodes.
        automata: on the model's device.
        batch_sizes: ascending; a batch is padded to the next of them.
        max_blocks: blocks of the longest sequence.
        max_steps: of one burst.
        vocab_size: columns of the logits.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        kv_cache: KVCache,
        backend: AttentionBackend,
        automata: ResidentAutomata,
        *,
        batch_sizes: Sequence[int],
        max_blocks: int,
        max_steps: int,
        vocab_size: int,
    ) -> None:
        self._model = model
        self._kv_cache = kv_cache
        self._backend = backend
        self.automata = automata
        self._batch_sizes = batch_sizes
        self.max_steps = max_steps
        self._sizes = (max_blocks, max_steps, vocab_size)
        self._device = model.device
        self._buffers: dict[int, DecodeBuffers] = {}
        self._steps: dict[tuple[int, bool], Callable[[], None]] = {}
        self._graph_pool = graph_pool(model.device)

    @property
    def max_num_rows(self) -> int:
        """The largest batch."""
        return self._batch_sizes[-1]

    @torch.inference_mode()
    def run(self, rows: Sequence[DecodingRow]) -> Burst:
        """Decode as many steps as there are random numbers.

        Args:
            rows: 1 to `max_num_rows`, all with the same number of steps.
        """
        num_steps = len(rows[0].uniforms)
        size = next(size for size in self._batch_sizes if size >= len(rows))
        buffers, step = self._step_of(size, draws=any(row.temperature > 0 for row in rows))
        buffers.load(rows)
        for _ in range(num_steps):
            step()
        # The only wait of the burst: the host must know the tokens to go on.
        return Burst(
            token_ids=buffers.chosen[:num_steps, : len(rows)].cpu().clone(),
            is_usable=buffers.is_usable[:num_steps, : len(rows)].cpu().clone(),
        )

    @torch.inference_mode()
    def prepare(self) -> None:
        """Make the steps of all sizes now, instead of when a batch first has them."""
        for size in reversed(self._batch_sizes):
            for draws in (False, True):
                self._step_of(size, draws=draws)

    def _step_of(self, size: int, *, draws: bool) -> tuple[DecodeBuffers, Callable[[], None]]:
        """The tensors of a size, and what decodes one token of each row."""
        buffers = self._buffers.get(size)
        if buffers is None:
            buffers = self._buffers[size] = DecodeBuffers(size, *self._sizes, self._device)
        step = self._steps.get((size, draws))
        if step is None:
            # While every row is padding, a step changes the null block alone.
            buffers.clear()
            step = capture(lambda: self._step(buffers, draws=draws), self._device, self._graph_pool)
            self._steps[size, draws] = step
        return buffers, step

    def _step(self, buffers: DecodeBuffers, *, draws: bool) -> None:
        inputs = buffers.inputs
        logits = run_decodes(self._model, self._kv_cache, self._backend, inputs).float()
        tensors = self.automata.tensors
        row_ids = tensors.row_of_state.index_select(0, buffers.states)
        shape_logits(logits, tensors.mask_rows, row_ids, None)
        largest, tokens = largest_logits(logits)
        if draws:
            buffers.params.uniform.copy_(buffers.uniforms.index_select(0, buffers.step).T)
            drawn = draw_tokens_by(logits, largest, buffers.params)
            tokens = torch.where(buffers.is_greedy, tokens, drawn)
        buffers.chosen.index_copy_(0, buffers.step, tokens.unsqueeze(0))
        buffers.is_usable.index_copy_(0, buffers.step, largest.isfinite().unsqueeze(0))
        # A token is always allowed, unless no logit was finite: then the host ends the sequence.
        states, _ = advance_states(tensors, buffers.states, tokens)
        buffers.states.copy_(states)
        inputs.token_ids.copy_(tokens)
        inputs.positions.add_(buffers.is_live)
        buffers.step.add_(1)
