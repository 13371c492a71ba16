"""StepBatch: the flat batch of one step on the host, as the scheduler chose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.block_pool import NULL_BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """The tokens of one sequence that a step computes.

    Args:
        token_ids: the tokens, at positions `start` and on.
        start: how many tokens of the sequence are in the KV pool already.
        block_ids: the sequence's blocks; they have room for `start + len(token_ids)` tokens.
        num_logits: the logits after so many of the last of these tokens are wanted.
    """

    token_ids: Sequence[int]
    start: int
    block_ids: Sequence[int]
    num_logits: int


@dataclass(frozen=True, slots=True)
class StepBatch:
    """All spans of a step, one after the other, padded to a multiple of the row multiple.

    Args:
        token_ids: int64, (T,).
        positions: int64, (T,).
        slot_mapping: int64, (T,); padding goes to the null block.
        query_start: int32, (n + 1,).
        seq_lens: int32, (n,); tokens in the pool after the step.
        block_tables: int32, (n, max_blocks), padded with the null block.
        logits_rows: int64, (padded num_logits,); rows of T whose logits are wanted, then padding.
        num_logits: how many of `logits_rows` are wanted.
    """

    token_ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    slot_mapping: NDArray[np.int64]
    query_start: NDArray[np.int32]
    seq_lens: NDArray[np.int32]
    block_tables: NDArray[np.int32]
    logits_rows: NDArray[np.int64]
    num_logits: int

    @property
    def query_lens(self) -> NDArray[np.int32]:
        """int32, (n,); tokens of each span."""
        return np.diff(self.query_start)

    @classmethod
    def from_spans(
        cls, spans: Sequence[TokenSpan], *, block_size: int, row_multiple: int
    ) -> StepBatch:
        """Lay the spans out.

        Args:
            spans: at least one, none of them empty.
            block_size: tokens in a block.
            row_multiple: T and the number of logits rows are padded to a multiple of this.
        """
        lengths = np.array([len(span.token_ids) for span in spans], np.int64)
        starts = np.array([span.start for span in spans], np.int64)
        query_start = np.zeros(len(spans) + 1, np.int64)
        np.cumsum(lengths, out=query_start[1:])
        num_tokens = int(query_start[-1])
        padded = _round_up(num_tokens, row_multiple)

        block_tables = padded_tables([span.block_ids for span in spans])

        token_ids = np.zeros(padded, np.int64)
        positions = np.zeros(padded, np.int64)
        slot_mapping = np.zeros(padded, np.int64)
        sequence = np.repeat(np.arange(len(spans)), lengths)
        for span, begin in zip(spans, query_start.tolist(), strict=False):
            token_ids[begin : begin + len(span.token_ids)] = span.token_ids
        position = np.arange(num_tokens) - query_start[sequence] + starts[sequence]
        positions[:num_tokens] = position
        blocks = block_tables[sequence, position // block_size].astype(np.int64)
        slot_mapping[:num_tokens] = blocks * block_size + position % block_size

        wanted = [
            np.arange(end - span.num_logits, end)
            for span, end in zip(spans, query_start[1:].tolist(), strict=True)
        ]
        num_logits = sum(map(len, wanted))
        logits_rows = np.zeros(_round_up(num_logits, row_multiple), np.int64)
        logits_rows[:num_logits] = np.concatenate(wanted)
        return cls(
            token_ids=token_ids,
            positions=positions,
            slot_mapping=slot_mapping,
            query_start=query_start.astype(np.int32),
            seq_lens=(starts + lengths).astype(np.int32),
            block_tables=block_tables,
            logits_rows=logits_rows,
            num_logits=num_logits,
        )


def padded_tables(tables: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """Block tables as int32, (n, length of the longest), padded with the null block."""
    padded = np.full((len(tables), max(map(len, tables))), NULL_BLOCK, np.int32)
    for row, block_ids in enumerate(tables):
        padded[row, : len(block_ids)] = block_ids
    return padded


def _round_up(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
