"""ForwardGraphs: the forward pass of small steps, launched as a whole.

A model has hundreds of small kernels, and launching each of them takes the host longer than a
device needs to run it. So where few tokens are computed the launches are recorded once for each
number of rows (a CUDA graph) and replayed.

A row is a token, not a sequence: in each layer all keys of the step are stored before any row
attends, and a row sees what lies at its own position and before. So a span of several tokens is
several rows with one block table, and decodes, forced text, drafts and the ends of prompts are one
kind of step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

from engine.decode_inputs import DecodeInputs, run_decodes
from engine.device.capture import capture, graph_pool
from engine.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from transformers import PreTrainedModel

    from engine.attention.context import AttentionBackend
    from engine.kv_cache import KVCache
    from engine.step_batch import StepBatch

_MAX_SPAN_TOKENS: Final = 16
"""Each row reads all keys before it by itself; longer spans are for attention that shares them."""


@dataclass(frozen=True, slots=True)
class _Forward:
    """The pass over one number of rows: reads `inputs`, writes the first of the logits."""

    inputs: DecodeInputs
    run: Callable[[], None]


class ForwardGraphs:
    """Runs steps of few tokens; where the device is the CPU, by the same functions, uncaptured.

    Args:
        model: with our attention set.
        kv_cache: the pool.
        backend: on CUDA it must read nothing from the host when every sequence decodes.
        sizes: numbers of rows, ascending; a step is padded to the next of them.
        max_blocks: blocks of the longest sequence.
        vocab_size: columns of the logits.

    Raises:
        RuntimeError: the model cannot be captured.
    """

    @torch.inference_mode()
    def __init__(
        self,
        model: PreTrainedModel,
        kv_cache: KVCache,
        backend: AttentionBackend,
        *,
        sizes: Sequence[int],
        max_blocks: int,
        vocab_size: int,
    ) -> None:
        self._sizes = sizes
        self._block_size = kv_cache.block_size
        self._device = model.device
        self._logits = torch.zeros((sizes[-1], vocab_size), device=model.device)
        pool = graph_pool(model.device)

        def make(size: int) -> _Forward:
            inputs, logits = DecodeInputs(size, max_blocks, model.device), self._logits[:size]

            def run() -> None:
                logits.copy_(run_decodes(model, kv_cache, backend, inputs))

            return _Forward(inputs, capture(run, model.device, pool))

        # The largest first: the others then find room in its memory.
        self._forwards = {size: make(size) for size in reversed(sizes)}

    def can_run(self, batch: StepBatch) -> bool:
        """Whether the step is small enough; `batch` has no padding."""
        is_small = len(batch.token_ids) <= self._sizes[-1]
        return is_small and bool(batch.query_lens.max() <= _MAX_SPAN_TOKENS)

    @torch.inference_mode()
    def run(self, batch: StepBatch) -> torch.Tensor:
        """Compute a step that `can_run`; see `ModelRunner.run`."""
        num_rows = len(batch.token_ids)
        forward = self._forwards[next(size for size in self._sizes if size >= num_rows)]
        num_blocks = int(batch.positions.max()) // self._block_size + 1
        tables = np.repeat(batch.block_tables[:, :num_blocks], batch.query_lens, axis=0)
        forward.inputs.load(batch.token_ids, batch.positions, tables)
        forward.run()
        if batch.num_logits == num_rows:
            return self._logits[:num_rows]
        rows = batch.logits_rows[: batch.num_logits]
        return self._logits.index_select(0, to_device(rows, self._device))
