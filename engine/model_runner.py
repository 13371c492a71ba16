"""ModelRunner: one forward pass of a transformers model over a flat batch and the paged KV pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engine.attention.context import AttentionContext
from engine.attention.interface import run_flat_batch
from engine.step_batch import StepBatch
from engine.transfer import to_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedModel

    from engine.attention.context import AttentionBackend
    from engine.forward_graphs import ForwardGraphs
    from engine.kv_cache import KVCache
    from engine.step_batch import TokenSpan


class ModelRunner:
    """Runs batches; owns the model and the pool's memory, not the decision what lies where in it.

    Args:
        model: in eval mode, with our attention set.
        kv_cache: the pool.
        backend: computes the attention.
        row_multiple: rows are padded to a multiple of this, see `batch_invariance`.
        graphs: run the steps that are small enough; None: no step is.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        kv_cache: KVCache,
        backend: AttentionBackend,
        *,
        row_multiple: int = 1,
        graphs: ForwardGraphs | None = None,
    ) -> None:
        self._model = model
        self._kv_cache = kv_cache
        self._backend = backend
        self._row_multiple = row_multiple
        self._graphs = graphs
        self._device = model.device

    @torch.inference_mode()
    def run(self, spans: Sequence[TokenSpan]) -> torch.Tensor:
        """Compute the spans and store their keys and values.

        Returns:
            Logits, float32, (num_logits, padded_vocab_size), on the model's device: one row for
            each token whose logits a span wants, in order. Valid until the next step; the caller
            may change them.
        """
        batch = StepBatch.from_spans(
            spans, block_size=self._kv_cache.block_size, row_multiple=self._row_multiple
        )
        if self._graphs is not None and self._graphs.can_run(batch):
            return self._graphs.run(batch)
        context = AttentionContext(
            kv_cache=self._kv_cache,
            backend=self._backend,
            query_start=batch.query_start,
            seq_lens=batch.seq_lens,
            block_tables=batch.block_tables,
            slot_mapping=to_device(batch.slot_mapping, self._device),
            device_block_tables=to_device(batch.block_tables, self._device),
            device_seq_lens=to_device(batch.seq_lens, self._device),
        )
        if batch.num_logits == 0:
            # The head must run on something; one row, thrown away.
            rows = torch.zeros(self._row_multiple, dtype=torch.int64, device=self._device)
        else:
            rows = to_device(batch.logits_rows, self._device)
        logits = run_flat_batch(
            self._model,
            context,
            to_device(batch.token_ids, self._device),
            to_device(batch.positions, self._device),
            rows,
        )
        return logits[: batch.num_logits].float()

    def copy_block(self, source: int, target: int) -> None:
        """Copy the keys and values of one block of the pool into another."""
        self._kv_cache.copy_block(source, target)

    def check_device(self) -> None:
        """Raise RuntimeError if the device is beyond use.

        After a fault inside a kernel CUDA fails every call of the process, also of healthy requests
        (CUDA C++ Programming Guide, section "Error Checking").
        """
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
