"""What a layer may ask of its attention, beyond what the models of the other tests do."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from engine.attention.context import AttentionContext
from engine.attention.interface import CONTEXT_KEYWORD, paged_attention
from engine.errors import ModelRefusedError

NOTHING: Any = None
CONTEXT = AttentionContext(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)


class BothDirections(nn.Module):
    is_causal = False


@pytest.mark.parametrize(
    ("layer", "asked", "message"),
    [
        (nn.Identity(), {CONTEXT_KEYWORD: None}, "does not hand keyword arguments down to its"),
        (nn.Identity(), {"attention_mask": torch.ones(1)}, "builds an attention mask of its own"),
        (nn.Identity(), {"dropout": 0.1}, "uses dropout; the model is not in eval mode"),
        (nn.Identity(), {"is_causal": False}, "attends in both directions; only causal models are"),
        (BothDirections(), {}, "attends in both directions; only causal models are"),
        (nn.Identity(), {"head_mask": torch.ones(1)}, "passes 'head_mask' to its attention, not"),
    ],
)
def test_what_changes_the_result_is_refused_by_name(layer, asked, message):
    row = torch.zeros(1, 1, 1, 4)
    arguments: Any = {"attention_mask": None, CONTEXT_KEYWORD: CONTEXT} | asked
    with pytest.raises(ModelRefusedError) as caught:
        paged_attention(layer, row, row, row, **arguments)
    assert str(caught.value).startswith(f"{type(layer).__name__} {message}")
