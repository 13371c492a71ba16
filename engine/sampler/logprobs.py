"""Log probabilities of the sampled tokens and of the likeliest ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engine.output import TokenLogprobs

if TYPE_CHECKING:
    from collections.abc import Sequence


def gather_logprobs(
    logits: torch.Tensor, token_ids: torch.Tensor, num_top: Sequence[int]
) -> list[TokenLogprobs]:
    """Logprobs of each row, natural log; impossible tokens are left out, so all are finite.

    Args:
        logits: float32, (num_rows, padded_vocab_size), of the distribution that is asked about.
        token_ids: int64, (num_rows,), the tokens, possible ones.
        num_top: how many of the likeliest each row wants.
    """
    logprobs = torch.log_softmax(logits, dim=1)
    sampled = logprobs.gather(1, token_ids.unsqueeze(1))[:, 0].tolist()
    # One width for all rows would let the batch decide between equal logprobs.
    top_by_row = [
        row.topk(min(count, len(row))) for row, count in zip(logprobs, num_top, strict=True)
    ]
    return [
        TokenLogprobs(
            token_id=token_id,
            logprob=logprob,
            top=tuple(
                (top_id, top_logprob)
                for top_id, top_logprob in zip(
                    top.indices.tolist(), top.values.tolist(), strict=True
                )
                if top_logprob > -torch.inf
            ),
        )
        for token_id, logprob, top in zip(token_ids.tolist(), sampled, top_by_row, strict=True)
    ]
