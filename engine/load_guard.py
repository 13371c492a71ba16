"""The load guard: a model is served only if our attention provably computes what its own does.

Models that attend in a way of their own (masks, biases, recurrent layers, a second call) would be
silently wrong under the paged pool; each is refused by name.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from engine.attention.interface import ATTENTION_NAME, register_attention
from engine.errors import ModelRefusedError
from engine.kv_cache import KVCache, LayerShape
from engine.model_runner import ModelRunner
from engine.step_batch import TokenSpan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from transformers import PreTrainedModel

    from engine.attention.context import AttentionBackend, AttentionContext, AttentionOptions

_PROBE_LEN = 24
"""Tokens of the numeric test: more than one block, a chunk that starts inside one, and decodes."""

_RELATIVE_TOLERANCE = {torch.float32: 1e-3, torch.float16: 3e-2, torch.bfloat16: 1e-1}
"""Largest logit difference over the largest logit. Right models measure 1e-6 in float32; half
precisions add a dozen roundings (eps 1e-3 and 8e-3). Wrong attention gives about 1."""

_LAYER_TYPES = frozenset({"full_attention", "sliding_attention"})


def check_architecture(model: PreTrainedModel) -> None:
    """Refuse what can be seen without running the model.

    Raises:
        ModelRefusedError: the attention backend is not supported, or a layer type is not known.
    """
    name = type(model).__name__
    config = model.config.get_text_config()
    # transformers has no public question for this flag.
    if not model._supports_attention_backend:  # noqa: SLF001
        raise ModelRefusedError(f"{name} does not support transformers' attention interface")
    if config.is_encoder_decoder:
        raise ModelRefusedError(f"{name} is an encoder-decoder; only decoders are served")
    unknown = set(getattr(config, "layer_types", None) or ()) - _LAYER_TYPES
    if unknown:
        raise ModelRefusedError(
            f"{name} has layers of type {', '.join(sorted(unknown))}; "
            f"only {', '.join(sorted(_LAYER_TYPES))} are served"
        )


@torch.inference_mode()
def eager_logits(model: PreTrainedModel) -> torch.Tensor:
    """Logits of the probe by transformers' own attention, (_PROBE_LEN, padded_vocab_size).

    Raises:
        ModelRefusedError: the model fails even so.
    """
    try:
        with _attention(model, "eager"):
            output = model(input_ids=_probe_token_ids(model).unsqueeze(0), use_cache=False)
    except Exception as error:  # whatever a model's own code raises, as of a config that it trusts
        raise ModelRefusedError(f"{type(model).__name__} cannot be run: {error}") from error
    logits: torch.Tensor = output.logits[0].float()
    return logits


@torch.inference_mode()
def measure_layers(model: PreTrainedModel) -> tuple[LayerShape, ...]:
    """The shape of each layer's keys and values, measured by running the model on one token.

    Leaves our attention set.

    Raises:
        ModelRefusedError: some layer called our function not exactly once, or the model failed.
    """
    register_attention()
    model.set_attn_implementation(ATTENTION_NAME)
    recorder = _ShapeRecorder(int(model.config.get_text_config().num_hidden_layers))
    no_blocks = KVCache((), num_blocks=0, block_size=1, dtype=model.dtype, device=model.device)
    try:
        ModelRunner(model, no_blocks, recorder).run([TokenSpan([0], 0, [0], num_logits=1)])
    except ModelRefusedError:
        raise
    except Exception as error:  # whatever a model's own code raises when it is called our way
        raise ModelRefusedError(
            f"{type(model).__name__} cannot be run on a flat batch: {error}"
        ) from error
    return recorder.get_shapes(type(model).__name__)


def check_numbers(
    model: PreTrainedModel,
    shapes: tuple[LayerShape, ...],
    backend: AttentionBackend,
    *,
    expected: torch.Tensor,
    dtype: torch.dtype,
) -> None:
    """Run `check_runner` through a small pool of its own.

    Args:
        model: with our attention set.
        shapes: of its layers.
        backend: the one that will serve.
        expected: `eager_logits` of the same weights.
        dtype: of the pool.

    Raises:
        ModelRefusedError: the logits differ by more than rounding explains.
    """
    kv_cache = KVCache(shapes, num_blocks=8, block_size=8, dtype=dtype, device=model.device)
    # Blocks out of order on purpose.
    check_runner(ModelRunner(model, kv_cache, backend), [5, 2, 7], model=model, expected=expected)


def num_probe_blocks(block_size: int) -> int:
    """Blocks that `check_runner` writes."""
    return -(-_PROBE_LEN // block_size)


def check_runner(
    runner: ModelRunner,
    block_ids: Sequence[int],
    *,
    model: PreTrainedModel,
    expected: torch.Tensor,
) -> None:
    """Compare prefill, a second chunk and decodes with `eager_logits`.

    Args:
        runner: of the model.
        block_ids: `num_probe_blocks` of its pool, which are overwritten.
        model: with our attention set.
        expected: `eager_logits` of the same weights.

    Raises:
        ModelRefusedError: the logits differ by more than rounding explains.
    """
    token_ids = _probe_token_ids(model).tolist()
    for start, end in ((0, 10), (10, 21), (21, 22), (22, 23), (23, 24)):
        logits = runner.run([TokenSpan(token_ids[start:end], start, block_ids, num_logits=1)])
        wanted = expected[end - 1]
        difference = float((logits[0] - wanted).abs().max() / wanted.abs().max())
        # "not <=" also refuses NaN.
        if not difference <= _RELATIVE_TOLERANCE[model.dtype]:
            raise ModelRefusedError(
                f"{type(model).__name__} fails the numeric self-test: logits after {end} tokens "
                f"differ from transformers' own attention by {difference:.1e} of the largest"
            )


class _ShapeRecorder:
    """An `AttentionBackend` that attends nothing and remembers which layers called, with what."""

    def __init__(self, num_layers: int) -> None:
        self._calls: list[list[LayerShape]] = [[] for _ in range(num_layers)]

    def __call__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        layer_idx: int,
        context: AttentionContext,  # noqa: ARG002  # the protocol's
        options: AttentionOptions,  # noqa: ARG002  # the protocol's
    ) -> torch.Tensor:
        if layer_idx >= len(self._calls):
            raise ModelRefusedError(
                f"attention layer {layer_idx} is past the {len(self._calls)} layers of the config"
            )
        self._calls[layer_idx].append(LayerShape(key.shape[1], key.shape[2], value.shape[2]))
        return query.new_zeros((*query.shape[:2], value.shape[2]))

    def get_shapes(self, model_name: str) -> tuple[LayerShape, ...]:
        for layer_idx, calls in enumerate(self._calls):
            if len(calls) != 1:
                raise ModelRefusedError(
                    f"{model_name} ran our attention {len(calls)} times in layer {layer_idx}; "
                    "it must be once"
                )
        return tuple(calls[0] for calls in self._calls)


def _probe_token_ids(model: PreTrainedModel) -> torch.Tensor:
    """Distinct ids spread over the vocabulary, the same in every run."""
    vocab_size = int(model.config.get_text_config().vocab_size)
    return (torch.arange(_PROBE_LEN, device=model.device) * 7919 + 11) % vocab_size


@contextmanager
def _attention(model: PreTrainedModel, name: str) -> Iterator[None]:
    before = model.config._attn_implementation  # noqa: SLF001  # read as transformers' modules do
    model.set_attn_implementation(name)
    try:
        yield
    finally:
        model.set_attn_implementation(before)
