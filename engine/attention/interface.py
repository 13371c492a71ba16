"""The attention function that transformers' modules call, registered under ATTENTION_NAME.

A name that has no mask function makes transformers build no mask at all; causality, windows and the
separation of sequences are the backend's work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from transformers import AttentionInterface

from engine.attention.context import AttentionContext, AttentionOptions
from engine.errors import ModelRefusedError

if TYPE_CHECKING:
    import torch
    from torch import nn
    from transformers import PreTrainedModel

ATTENTION_NAME: Final = "tightrope_paged"

CONTEXT_KEYWORD: Final = "tightrope_context"
"""Passed to `model(...)`; transformers hands unknown keywords down to every attention layer."""

_HARMLESS_KEYWORDS: Final = frozenset(
    {
        CONTEXT_KEYWORD,
        "cache_position",
        "position_ids",
        "position_embeddings",
        "use_cache",
        "output_attentions",
        "output_hidden_states",
        "output_router_logits",
        "return_dict",
        "is_causal",
    }
)
"""Keywords that do not change the result of causal attention without transformers' own cache."""


def paged_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **keywords: object,
) -> tuple[torch.Tensor, None]:
    """Attention of one layer over the flat batch, in the shape that transformers' modules expect.

    Args:
        module: the attention layer; its `layer_idx` chooses the layer of the pool.
        query: (1, num_heads, T, key_size).
        key: (1, num_kv_heads, T, key_size).
        value: (1, num_kv_heads, T, value_size).
        attention_mask: must be None.
        scaling: factor of the scores; None is key_size ** -0.5.
        dropout: must be 0.
        sliding_window: see `AttentionOptions`.
        softcap: see `AttentionOptions`.
        s_aux: transformers' name of `AttentionOptions.sinks`.
        keywords: the context, and what other layers of the model need.

    Returns:
        The attention's output, (1, T, num_heads, value_size), and None for the weights.

    Raises:
        ModelRefusedError: the layer asks for something that is not supported.
    """
    context = keywords.get(CONTEXT_KEYWORD)
    if not isinstance(context, AttentionContext):
        raise ModelRefusedError(
            f"{type(module).__name__} does not hand keyword arguments down to its attention"
        )
    _refuse_unsupported(module, attention_mask, dropout, keywords)
    options = AttentionOptions(
        scaling=query.shape[-1] ** -0.5 if scaling is None else scaling,
        sliding_window=sliding_window,
        softcap=softcap,
        sinks=s_aux,
    )
    output = context.backend(
        query[0].transpose(0, 1),
        key[0].transpose(0, 1),
        value[0].transpose(0, 1),
        int(module.layer_idx),  # type: ignore[arg-type]  # an int, which nn.Module cannot say
        context,
        options,
    )
    return output.unsqueeze(0), None


def run_flat_batch(
    model: PreTrainedModel,
    context: AttentionContext,
    token_ids: torch.Tensor,
    positions: torch.Tensor,
    logits_rows: torch.Tensor,
) -> torch.Tensor:
    """Run a model that has our attention set over the tokens of a step.

    Args:
        model: in eval mode.
        context: the step.
        token_ids: int64, (T,).
        positions: int64, (T,).
        logits_rows: int64, (n,); which tokens' logits are wanted.

    Returns:
        Those logits, (n, padded_vocab_size), in the model's dtype.
    """
    output = model(
        input_ids=token_ids.unsqueeze(0),
        position_ids=positions.unsqueeze(0),
        use_cache=False,
        logits_to_keep=logits_rows,
        **{CONTEXT_KEYWORD: context},
    )
    logits: torch.Tensor = output.logits[0]
    return logits


def register_attention() -> None:
    """Make ATTENTION_NAME known to transformers; doing it again changes nothing."""
    AttentionInterface.register(ATTENTION_NAME, paged_attention)


def _refuse_unsupported(
    module: nn.Module,
    attention_mask: torch.Tensor | None,
    dropout: float,
    keywords: dict[str, object],
) -> None:
    name = type(module).__name__
    if attention_mask is not None:
        raise ModelRefusedError(f"{name} builds an attention mask of its own")
    if dropout:
        raise ModelRefusedError(f"{name} uses dropout; the model is not in eval mode")
    if keywords.get("is_causal") is False or getattr(module, "is_causal", True) is False:
        raise ModelRefusedError(f"{name} attends in both directions; only causal models are served")
    for keyword, value in keywords.items():
        if value is not None and keyword not in _HARMLESS_KEYWORDS:
            raise ModelRefusedError(f"{name} passes '{keyword}' to its attention, not supported")
