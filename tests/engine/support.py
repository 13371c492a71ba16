"""Tiny models with fixed weights, engines around them, and constraints of a few lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from engine.config import EngineConfig
from engine.load import build_engine
from engine.output import RequestWork
from engine.request import Request, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray
    from transformers import PreTrainedModel

    from engine.engine import Engine
    from engine.output import FinishReason, RequestOutput, TokenLogprobs

VOCAB_SIZE = 203
EOS = 2

_SIZES: dict[str, Any] = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "initializer_range": 0.3,
    "eos_token_id": EOS,
    "bos_token_id": 1,
    "pad_token_id": 0,
}

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1},
    "qwen3": {},
    "mistral": {"sliding_window": 9},
    "gemma2": {
        "sliding_window": 9,
        "query_pre_attn_scalar": 8,
        "attn_logit_softcapping": 20.0,
        "final_logit_softcapping": 10.0,
    },
    "gemma3_text": {"sliding_window": 9, "query_pre_attn_scalar": 8},
    "phi3": {"sliding_window": 11},
    "granite": {"attention_multiplier": 0.2, "logits_scaling": 2.0},
    "smollm3": {},
    "olmo2": {},
    "glm4": {"partial_rotary_factor": 0.5},
    "qwen3_moe": {
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "decoder_sparse_step": 1,
    },
    "gpt_oss": {
        "sliding_window": 9,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    },
}


def tiny_model(model_type: str = "llama", **options: Any) -> PreTrainedModel:
    """A model of the given type with random weights, the same ones in every run."""
    torch.manual_seed(20)
    config = AutoConfig.for_model(
        model_type, **(_SIZES | ARCHITECTURES.get(model_type, {}) | options)
    )
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.eval()
    return model


def tiny_engine(model_type: str = "llama", **options: Any) -> Engine:
    """An engine around a tiny model; `options` are those of `EngineConfig`."""
    return build_engine(tiny_model(model_type), EngineConfig(**options), name="tiny")


def prompt(length: int, salt: int = 0) -> tuple[int, ...]:
    """Some token ids, none of them special."""
    start = salt * 11 + length
    return tuple(3 + (position * 37 + start) % (VOCAB_SIZE - 3) for position in range(length))


def greedy_by_transformers(
    model: PreTrainedModel, prompt_token_ids: Sequence[int], num_tokens: int
) -> list[int]:
    """What `model.generate` continues the prompt with, end tokens not minded."""
    input_ids = torch.tensor([prompt_token_ids])
    output: torch.Tensor = model.generate(  # type: ignore[operator]  # not in its type
        input_ids,
        attention_mask=torch.ones_like(input_ids),
        max_new_tokens=num_tokens,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )
    continuation: list[int] = output[0, len(prompt_token_ids) :].tolist()
    return continuation


@dataclass
class Finished:
    """All outputs of one request, put together."""

    token_ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    error: str | None = None
    prompt_logprobs: list[TokenLogprobs] = field(default_factory=list)
    was_closed: bool = False
    num_outputs: int = field(default=0, compare=False)
    num_cached_tokens: int = field(default=0, compare=False)
    work: RequestWork = field(default_factory=RequestWork, compare=False)

    def add(self, output: RequestOutput) -> None:
        assert self.finish_reason is None, "an output after the last one"
        self.token_ids += output.token_ids
        self.logprobs += output.logprobs
        self.finish_reason = output.finish_reason
        self.error = output.error
        self.prompt_logprobs += output.prompt_logprobs
        self.was_closed = output.was_closed
        self.num_outputs += 1
        self.num_cached_tokens = output.num_cached_tokens
        assert (output.work is None) == (output.finish_reason is None)
        self.work = output.work or self.work


def run_all(engine: Engine, requests: Iterable[Request]) -> dict[str, Finished]:
    """Add the requests, step until all have ended."""
    finished: dict[str, Finished] = {}
    for request in requests:
        finished[request.request_id] = Finished()
        engine.add_request(request)
    while engine.has_unfinished:
        for output in engine.step():
            finished[output.request_id].add(output)
    return finished


def run_one(
    engine: Engine,
    prompt_token_ids: tuple[int, ...],
    sampling: SamplingParams,
    constraint: Any = None,
) -> Finished:
    """Generate for one request alone."""
    request = Request("only", prompt_token_ids, sampling, constraint)
    return run_all(engine, [request])["only"]


def greedy(max_tokens: int, **options: Any) -> SamplingParams:
    """Greedy parameters that go on to `max_tokens`."""
    defaults: dict[str, Any] = {"temperature": 0.0, "ignore_eos": True}
    return SamplingParams(max_tokens, **(defaults | options))


class Script:
    """A constraint that allows one set of tokens at each position, and then the end tokens.

    Args:
        allowed: the set of each position.
        ends_by_itself: whether it has terminated after the last position; else by an end token.
        complete_from: from this many tokens on the text is complete; None: only at the end.
    """

    def __init__(
        self,
        allowed: Sequence[Iterable[int]],
        *,
        ends_by_itself: bool = True,
        complete_from: int | None = None,
    ) -> None:
        self.allowed = [frozenset(tokens) for tokens in allowed]
        self.ends_by_itself = ends_by_itself
        self.complete_from = len(self.allowed) if complete_from is None else complete_from
        self.accepted: list[int] = []

    def _allowed_now(self) -> frozenset[int]:
        position = len(self.accepted)
        ends = frozenset([EOS]) if self.is_complete else frozenset()
        return ends | (self.allowed[position] if position < len(self.allowed) else frozenset())

    def fill_bitmask(self, row: NDArray[np.int32]) -> None:
        bits = np.zeros(row.size * 32, np.uint8)
        bits[list(self._allowed_now())] = 1
        row[:] = np.packbits(bits, bitorder="little").view(np.int32)

    def shared_bitmask(self) -> NDArray[np.int32] | None:
        return None

    def fill_closing_bitmask(self, row: NDArray[np.int32], tokens_left: int) -> None:
        if self.complete_from - len(self.accepted) > tokens_left:
            raise AssertionError("the engine has let the text become too long to close")
        self.fill_bitmask(row)

    def min_tokens_to_complete(self, max_states: int | None = None) -> int:
        return max(0, self.complete_from - len(self.accepted))

    def accept_token(self, token_id: int) -> bool:
        if token_id not in self._allowed_now():
            return False
        self.accepted.append(token_id)
        return True

    def rollback(self, num_tokens: int) -> None:
        del self.accepted[len(self.accepted) - num_tokens :]

    def forced_tokens(self) -> list[int]:
        return []

    @property
    def is_complete(self) -> bool:
        return len(self.accepted) >= self.complete_from

    @property
    def is_terminated(self) -> bool:
        if self.accepted and self.accepted[-1] == EOS:
            return True
        return self.ends_by_itself and len(self.accepted) >= len(self.allowed)


class Forcing(Script):
    """A script that tells which tokens must follow."""

    def forced_tokens(self) -> list[int]:
        if self.is_complete:
            return []
        rest = self.allowed[len(self.accepted) :]
        return [next(iter(tokens)) for tokens in takewhile(lambda t: len(t) == 1, rest)]


class ScriptTables:
    """A script as the tables of a `TokenAutomaton`: a state for each position, and one behind them.

    Args:
        script: nothing of which is written.
    """

    def __init__(self, script: Script) -> None:
        num_positions = len(script.allowed) + 1
        self._over = num_positions
        width = -(-VOCAB_SIZE // 32)
        self.rows = np.full((num_positions + 1, width), -1, np.int32).view(np.uint32)
        ends = np.zeros(num_positions + 1, np.int32)
        for position in range(num_positions):
            script.accepted = [EOS + 1] * position
            script.fill_bitmask(self.rows[position].view(np.int32))
            ends[position] = script.is_complete
        script.accepted = []
        self.row_of_state = np.arange(num_positions + 1, dtype=np.int32)
        self.default_next = np.minimum(self.row_of_state + 1, self._over).astype(np.int32)
        self.exception_begin = np.concatenate(([0], np.cumsum(ends))).astype(np.int32)
        self.exception_tokens = np.full(ends.sum(), EOS, np.int32)
        self.exception_next = np.full(ends.sum(), self._over, np.int32)

    def next_state(self, state: int, token_id: int) -> int:
        has_end = self.exception_begin[state + 1] > self.exception_begin[state]
        return self._over if has_end and token_id == EOS else int(self.default_next[state])


class Closing(Script):
    """A text of `length` free tokens, or of any that end with token `closer`, three times."""

    def __init__(self, closer: int, length: int = 1000) -> None:
        super().__init__([range(3, VOCAB_SIZE)] * length)
        self._closer = closer

    @property
    def is_complete(self) -> bool:
        return self.accepted[-3:] == [self._closer] * 3

    @property
    def is_terminated(self) -> bool:
        return self.is_complete

    def min_tokens_to_complete(self, max_states: int | None = None) -> int:
        written = [token == self._closer for token in self.accepted[-3:]]
        return 3 - sum(1 for _ in takewhile(bool, reversed(written)))

    def fill_closing_bitmask(self, row: NDArray[np.int32], tokens_left: int) -> None:
        if tokens_left > 3:
            self.fill_bitmask(row)
        else:
            row[:] = 0
            row[self._closer // 32] = np.int32(1) << np.int32(self._closer % 32)


class Silent(Script):
    """A script that does not know how long it is."""

    def min_tokens_to_complete(self, max_states: int | None = None) -> int:
        raise LookupError("this grammar has no lengths")


class Faulty(Script):
    """A constraint that allows everything until its `fault` runs, at the given number of tokens."""

    def __init__(self, method: str, after: int, fault: Callable[[], Any]) -> None:
        super().__init__([range(3, VOCAB_SIZE)] * 50)
        self._method, self._after, self._fault = method, after, fault

    def _maybe(self, method: str) -> Any:
        return (
            self._fault() if method == self._method and len(self.accepted) == self._after else None
        )

    def fill_bitmask(self, row: NDArray[np.int32]) -> None:
        super().fill_bitmask(row)
        if self._maybe("fill_bitmask") == "empty":
            row[:] = 0

    def accept_token(self, token_id: int) -> bool:
        if self._maybe("accept_token") == "reject":
            return False
        return super().accept_token(token_id)
