"""One step's masks, by every way of getting them onto the logits: what `bench device` times.

All ways do the same work: each of a batch of sequences is somewhere in the same finite document,
the mask of its place is applied to its logits, and it advances by the document's next token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import torch

from engine.device.automata import ResidentAutomata, advance_states
from engine.device.bitmask import bitmask_width
from engine.device.capture import capture, graph_pool
from engine.device.mask_pool import MaskPool
from engine.device.shaping import shape_logits
from engine.transfer import to_device
from grammars.backends.base import get_backend
from grammars.device_tables import START, DeviceBudget
from grammars.integrations.transformers import ConstraintLogitsProcessor
from grammars.spec import JsonSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from grammars.protocol import CompiledGrammar, GrammarMatcher
    from grammars.vocabulary import Vocabulary

SCHEMA: Final = (
    '{"type":"object","properties":{"kind":{"enum":["invoice","receipt","order"]},'
    '"number":{"enum":[7,42,815,4711]},'
    '"tags":{"type":"array","items":{"enum":["new","paid","late"]},"maxItems":3},'
    '"open":{"type":"boolean"}},"required":["kind","number","tags","open"],'
    '"additionalProperties":false}'
)
DOCUMENT: Final = '{"kind":"receipt","number":4711,"tags":["new","late"],"open":true}'

METHODS: Final = (
    "resident", "pooled", "copied", "xgrammar", "llguidance", "outlines", "logits processor",
)  # fmt: skip


Parts: TypeAlias = "Mapping[str, Callable[[], None]]"
"""What a call does, in order: name -> function."""

STEPS_IN_GRAPH: Final = 16
"""Of the resident method on CUDA: there a step's kernels stand in the graph of a whole decode step,
within a burst, so one launch and one wait for each step would not be theirs."""


class Replay:
    """Where each sequence of the batch is in the document; the same for every method.

    Args:
        vocabulary: the tokens.
        batch_size: sequences, spread evenly over the document.
    """

    def __init__(self, vocabulary: Vocabulary, batch_size: int) -> None:
        self.token_ids = vocabulary.encode(DOCUMENT.encode())
        self.places = [index % len(self.token_ids) for index in range(batch_size)]

    def next_tokens(self) -> list[int]:
        """The token that each sequence writes now."""
        return [self.token_ids[place] for place in self.places]

    def move(self) -> list[int]:
        """Advance by one token; returns the sequences that start the document again."""
        self.places = [(place + 1) % len(self.token_ids) for place in self.places]
        return [index for index, place in enumerate(self.places) if place == 0]


def make_parts(method: str, vocabulary: Vocabulary, logits: torch.Tensor) -> Parts:
    """The parts of a step that applies all masks to `logits` in place and advances every sequence.

    `fill`: the masks, or their names, on the host; `copy`: them to the device; `apply`: to the
    logits; `advance`: every sequence by its token. A graph is one part, `replay`, and takes
    STEPS_IN_GRAPH steps.

    Args:
        method: one of METHODS.
        vocabulary: of `logits`' width.
        logits: float32, (batch_size, padded_vocab_size).

    Raises:
        BackendError: the method's library is not installed.
        GrammarError: the method's compiler refuses the schema.
    """
    replay = Replay(vocabulary, len(logits))
    spec = JsonSchema(SCHEMA, "compact")
    library = method if method in ("xgrammar", "llguidance", "outlines") else "tightrope"
    compiled = get_backend(library).compile(spec, vocabulary)
    if method == "resident":
        return _resident_parts(compiled, replay, logits)
    if method == "logits processor":
        return _processor_parts(compiled, replay, logits)
    advance = _Matchers(compiled, replay)
    if method == "pooled":
        return _pooled_parts(advance, logits)
    return _copied_parts(advance, logits, by_xgrammar=method == "xgrammar")


class _Matchers:
    """A matcher for each sequence; called, it advances all of them."""

    def __init__(self, compiled: CompiledGrammar, replay: Replay) -> None:
        self._compiled = compiled
        self._replay = replay
        self.all: list[GrammarMatcher] = []
        for place in replay.places:
            matcher = compiled.matcher()
            for token_id in replay.token_ids[:place]:
                assert matcher.accept_token(token_id), "the document is one of the schema"
            self.all.append(matcher)

    def __call__(self) -> None:
        for matcher, token_id in zip(self.all, self._replay.next_tokens(), strict=True):
            matcher.accept_token(token_id)
        for index in self._replay.move():
            self.all[index] = self._compiled.matcher()


def _resident_parts(compiled: CompiledGrammar, replay: Replay, logits: torch.Tensor) -> Parts:
    """Mask and advance on the device; its graph holds both, as in a decode step."""
    tables = compiled.device_tables(DeviceBudget())  # type: ignore[attr-defined]  # ours has it
    device = logits.device
    automata = ResidentAutomata(
        bitmask_width(logits.shape[1]), max_bytes=8 * tables.num_bytes + 2**20, device=device
    )
    bases = automata.bases([tables])
    assert bases is not None, "the memory is made for these tables"
    base = bases[0]
    document = torch.tensor(replay.token_ids, device=device)
    states_at = [START]
    for token_id in replay.token_ids[:-1]:
        states_at.append(tables.next_state(states_at[-1], token_id))
    places = torch.tensor(replay.places, device=device)
    states = torch.tensor(
        [base + states_at[place] for place in replay.places], dtype=torch.int32, device=device
    )
    tensors = automata.tensors

    def apply() -> None:
        row_ids = tensors.row_of_state.index_select(0, states)
        shape_logits(logits, tensors.mask_rows, row_ids, None)

    def advance() -> None:
        following, _ = advance_states(tensors, states, document[places])
        places.add_(1).remainder_(len(document))
        states.copy_(torch.where(places == 0, base + START, following))

    if device.type != "cuda":
        return {"apply": apply, "advance": advance}

    def steps() -> None:
        for _ in range(STEPS_IN_GRAPH):
            apply()
            advance()

    return {"replay": capture(steps, device, graph_pool(device))}


def _pooled_parts(advance: _Matchers, logits: torch.Tensor) -> Parts:
    """As the engine does it: masks by name, what is new to the pool copied."""
    pool = MaskPool(
        bitmask_width(logits.shape[1]),
        max_bytes=64 * 2**20,
        max_step_rows=len(logits),
        device=logits.device,
    )
    row_ids: list[int] = []

    def fill() -> None:
        pool.begin_step()
        shared = [matcher.shared_bitmask() for matcher in advance.all]
        row_ids[:] = [pool.shared_row_id(row) for row in shared if row is not None]
        pool.end_step()

    def apply() -> None:
        shape_logits(logits, pool.rows, to_device(row_ids, logits.device, torch.int32), None)

    return {"fill": fill, "apply": apply, "advance": advance}


def _copied_parts(advance: _Matchers, logits: torch.Tensor, *, by_xgrammar: bool) -> Parts:
    """Rows are filled on the host, copied, and applied by our kernel or by xgrammar's."""
    device = logits.device
    on_device = torch.zeros(
        (len(logits), bitmask_width(logits.shape[1])), dtype=torch.int32, device=device
    )
    on_host = on_device if device.type == "cpu" else torch.zeros_like(on_device, device="cpu")
    if device.type == "cuda":
        on_host = on_host.pin_memory()
    rows = on_host.numpy()
    in_order = torch.arange(len(logits), dtype=torch.int32, device=device)

    def fill() -> None:
        for matcher, row in zip(advance.all, rows, strict=True):
            matcher.fill_bitmask(row)

    def copy() -> None:
        on_device.copy_(on_host, non_blocking=True)

    def apply() -> None:
        shape_logits(logits, on_device, in_order, None)

    def apply_by_xgrammar() -> None:
        xgrammar.apply_token_bitmask_inplace(logits, on_device)

    if by_xgrammar:
        import xgrammar  # a peer, which need not be installed
    parts: dict[str, Callable[[], None]] = {
        "fill": fill,
        "copy": copy,
        "apply": apply_by_xgrammar if by_xgrammar else apply,
        "advance": advance,
    }
    if device.type == "cpu":
        del parts["copy"]
    return parts


def _processor_parts(compiled: CompiledGrammar, replay: Replay, logits: torch.Tensor) -> Parts:
    """As `model.generate` calls it; all sequences go in step, since the processor begins once."""
    token_ids = replay.token_ids
    processor = ConstraintLogitsProcessor(compiled)
    written: list[int] = []
    prompt = np.zeros((len(logits), 1), np.int64)

    def step() -> None:
        nonlocal processor
        so_far = np.repeat(np.array([written], np.int64).reshape(1, -1), len(logits), axis=0)
        input_ids = torch.from_numpy(np.concatenate((prompt, so_far), axis=1)).to(logits.device)
        processor(input_ids, logits)  # type: ignore[arg-type]  # transformers' names for tensors
        written.append(token_ids[len(written)])
        if len(written) == len(token_ids):
            written.clear()
            processor = ConstraintLogitsProcessor(compiled)

    return {"apply": step}
