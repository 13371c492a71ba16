"""GraphLoader: the steps that a device takes as a whole, captured while the model loads."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.decode_graphs import DecodeGraphs
from engine.device.automata import ResidentAutomata
from engine.device.bitmask import bitmask_width
from engine.device.capture import captured_sizes
from engine.errors import ModelRefusedError
from engine.forward_graphs import ForwardGraphs
from engine.load_guard import check_runner, num_probe_blocks
from engine.model_runner import ModelRunner

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from engine.attention.context import AttentionBackend
    from engine.kv_cache import KVCache
    from engine.resolved_config import ResolvedConfig

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GraphLoader:
    """What all graphs are made from.

    A model that cannot be captured (one that asks the device in the middle of its forward pass) is
    served all the same, kernel by kernel, and the log says so.

    Args:
        model: with our attention set.
        kv_cache: the pool; nobody uses it yet.
        backend: on CUDA it must read nothing from the host when every sequence decodes.
        config: as resolved.
        padded_vocab_size: columns of the logits.
    """

    model: PreTrainedModel
    kv_cache: KVCache
    backend: AttentionBackend
    config: ResolvedConfig
    padded_vocab_size: int

    def runner_with_graphs(self, runner: ModelRunner, expected: torch.Tensor) -> ModelRunner:
        """A runner whose small steps are graphs; `runner` itself where there are none.

        Args:
            runner: of the model, without graphs.
            expected: `eager_logits`, with which those of the graphs must agree.
        """
        config = self.config
        num_blocks = num_probe_blocks(config.block_size)
        if not (self._on_cuda and config.cuda_graphs and num_blocks <= config.num_blocks):
            return runner
        try:
            graphs = ForwardGraphs(
                self.model,
                self.kv_cache,
                self.backend,
                sizes=captured_sizes(min(2 * config.max_num_seqs, config.max_num_batched_tokens)),
                max_blocks=self._max_blocks,
                vocab_size=self.padded_vocab_size,
            )
            with_graphs = ModelRunner(self.model, self.kv_cache, self.backend, graphs=graphs)
            block_ids = range(1, 1 + num_blocks)
            check_runner(with_graphs, block_ids, model=self.model, expected=expected)
        except (RuntimeError, ModelRefusedError):
            logger.warning("steps are launched kernel by kernel: no CUDA graphs", exc_info=True)
            runner.check_device()
            return runner
        return with_graphs

    def decode_graphs(self, row_multiple: int) -> DecodeGraphs | None:
        """The steps of bursts; None where bursts are off, or cannot be captured."""
        config = self.config
        if config.max_burst_steps == 1:
            return None
        width = bitmask_width(self.padded_vocab_size)
        graphs = DecodeGraphs(
            self.model,
            self.kv_cache,
            self.backend,
            ResidentAutomata(width, max_bytes=config.automata_bytes, device=config.device),
            batch_sizes=captured_sizes(config.max_num_seqs, row_multiple),
            max_blocks=self._max_blocks,
            max_steps=config.max_burst_steps,
            vocab_size=self.padded_vocab_size,
        )
        if self._on_cuda:
            try:
                graphs.prepare()
            except RuntimeError:
                logger.warning("decode steps cannot be captured: bursts are off", exc_info=True)
                return None
        return graphs

    @property
    def _on_cuda(self) -> bool:
        return self.config.device.type == "cuda"

    @property
    def _max_blocks(self) -> int:
        """Of the longest sequence."""
        return -(-self.config.max_model_len // self.config.block_size)
