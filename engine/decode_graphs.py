"""DecodeGraphs: whole decode steps on the device, sampling and constraints included.

One step embeds the last tokens, runs the model, applies the masks of the automata's states, samples
and advances the states, from tensors that never move to the same tensors. So steps follow one
another without the host, and on CUDA a step is captured once for each batch size and replayed.
Elsewhere the very same function runs eagerly: it is what tests compare with the host's path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from engine.attention.context import AttentionContext
from engine.attention.interface import CONTEXT_KEYWORD
from engine.decode_buffers import DecodeBuffers
from engine.device.automata import advance_states
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

_WARM_UP_STEPS: Final = 2
"""Before a capture, so that kernels are compiled and libraries have their workspaces (CUDA C++
Programming Guide, section "CUDA Graphs"; torch.cuda.graph wants a warm-up on a side stream)."""


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
        # Graphs run one after the other and leave nothing in their memory, so they share it.
        self._graph_pool = torch.cuda.graph_pool_handle() if self._device.type == "cuda" else None

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
        buffers = self._buffers.get(size)
        if buffers is None:
            buffers = self._buffers[size] = DecodeBuffers(size, *self._sizes, self._device)
        draws = any(row.temperature > 0 for row in rows)
        step = self._steps.get((size, draws))
        if step is None:
            step = self._steps[size, draws] = self._make_step(buffers, draws=draws)
        buffers.load(rows)
        for _ in range(num_steps):
            step()
        # The only wait of the burst: the host must know the tokens to go on.
        return Burst(
            token_ids=buffers.chosen[:num_steps, : len(rows)].cpu().clone(),
            is_usable=buffers.is_usable[:num_steps, : len(rows)].cpu().clone(),
        )

    def _make_step(self, buffers: DecodeBuffers, *, draws: bool) -> Callable[[], None]:
        """A callable that decodes one token: a captured graph on CUDA, else the function."""

        def step() -> None:
            self._step(buffers, draws=draws)

        if self._device.type != "cuda":
            return step
        # While every row is padding, a step changes the null block alone.
        buffers.clear()
        stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]  # torch's
        stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP_STEPS):
                buffers.step.zero_()
                step()
        torch.cuda.current_stream(self._device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # Other threads may do with the device what they like.
        with torch.cuda.graph(graph, pool=self._graph_pool, capture_error_mode="thread_local"):
            step()
        return graph.replay

    def _step(self, buffers: DecodeBuffers, *, draws: bool) -> None:
        logits = self._logits(buffers)
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
        buffers.token_ids.copy_(tokens)
        buffers.positions.add_(buffers.is_live)
        buffers.seq_lens.add_(buffers.is_live)
        buffers.step.add_(1)

    def _logits(self, buffers: DecodeBuffers) -> torch.Tensor:
        """float32, (size, padded_vocab_size)."""
        block_size = self._kv_cache.block_size
        block = (buffers.positions // block_size).unsqueeze(1)
        block_ids = buffers.block_tables.gather(1, block)[:, 0].long()
        on_host = buffers.block_tables.device.type == "cpu"
        size = len(buffers.token_ids)
        context = AttentionContext(
            kv_cache=self._kv_cache,
            backend=self._backend,
            query_start=buffers.query_start,
            # A backend for CUDA does not look at the host's arrays when every sequence decodes.
            seq_lens=buffers.seq_lens.numpy() if on_host else np.ones(size, np.int32),
            block_tables=buffers.block_tables.numpy() if on_host else np.ones((size, 1), np.int32),
            slot_mapping=block_ids * block_size + buffers.positions % block_size,
            device_block_tables=buffers.block_tables,
            device_seq_lens=buffers.seq_lens,
        )
        output = self._model(
            input_ids=buffers.token_ids.unsqueeze(0),
            position_ids=buffers.positions.unsqueeze(0),
            use_cache=False,
            logits_to_keep=buffers.logits_rows,
            **{CONTEXT_KEYWORD: context},
        )
        logits: torch.Tensor = output.logits[0].float()
        return logits


def graph_batch_sizes(max_num_seqs: int, row_multiple: int) -> list[int]:
    """1, 2, 4, 8 and on by eights up to `max_num_seqs`, each rounded up to `row_multiple`."""
    wanted = [1, 2, 4, *range(8, max_num_seqs, 8), max_num_seqs]
    sizes = {-(-min(size, max_num_seqs) // row_multiple) * row_multiple for size in wanted}
    return sorted(sizes)
