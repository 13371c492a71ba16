"""The ways to answer the same prompts: our engine, and transformers with others' masks."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import torch
from transformers import LogitsProcessorList

from engine.request import Request, SamplingParams
from grammars.backends.base import get_backend
from grammars.integrations.transformers import ConstraintLogitsProcessor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import LogitsProcessor, PreTrainedModel

    from engine.engine import Engine
    from grammars.protocol import CompiledGrammar
    from grammars.spec import JsonSchema
    from grammars.vocabulary import Vocabulary

PEERS: Final = ("xgrammar", "xgrammar's own", "llguidance", "outlines")
"""Masks for transformers: of our backends through our processor, and by xgrammar's processor."""


@dataclass(slots=True)
class Run:
    """What one way cost for one set of prompts.

    Args:
        way: its name.
        cpu_s: CPU seconds of the process.
        wall_s: seconds.
        num_tokens: generated.
        num_whole: documents that ended by themselves.
        num_forward_passes: passes that a document took part in, summed.
        token_ids: of every answer.
    """

    way: str
    cpu_s: float = 0.0
    wall_s: float = 0.0
    num_tokens: int = 0
    num_whole: int = 0
    num_forward_passes: int = 0
    token_ids: list[list[int]] = field(default_factory=list)


class Stopwatch:
    """Adds the time inside its block to a run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __enter__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._run.cpu_s += time.process_time() - self._cpu
        self._run.wall_s += time.perf_counter() - self._wall


class EngineAnswers:
    """Answers to all prompts at once, greedy, by one engine; somebody else says when it steps.

    Args:
        way: name of the run.
        engine: has no other requests.
        prompts: token ids.
        grammar: of every answer; None: free text, which goes on to its limit.
        max_tokens: of each answer.

    Attributes:
        run: what it has cost so far.
    """

    def __init__(
        self,
        way: str,
        engine: Engine,
        prompts: Sequence[tuple[int, ...]],
        *,
        grammar: CompiledGrammar | None,
        max_tokens: Sequence[int],
    ) -> None:
        self.run = Run(way, token_ids=[[] for _ in prompts])
        self._engine = engine
        with Stopwatch(self.run):
            for index, (prompt, limit) in enumerate(zip(prompts, max_tokens, strict=True)):
                sampling = SamplingParams(limit, temperature=0.0, ignore_eos=True)
                constraint = None if grammar is None else grammar.matcher()
                engine.add_request(Request(str(index), prompt, sampling, constraint))

    @property
    def is_running(self) -> bool:
        """Whether an answer is not at its end."""
        return self._engine.has_unfinished

    def step(self) -> None:
        """Let the engine take one step."""
        run = self.run
        with Stopwatch(run):
            outputs = self._engine.step()
        for output in outputs:
            run.token_ids[int(output.request_id)] += output.token_ids
            run.num_tokens += len(output.token_ids)
            if output.finish_reason is not None:
                run.num_whole += output.finish_reason.value == "stop"
                assert output.work is not None, "the last output tells what the request has cost"
                run.num_forward_passes += output.work.num_forward_passes


def run_in_turn(ways: Sequence[EngineAnswers]) -> list[Run]:
    """Answer by all ways at once, one step of each in turn, to the end of the longest.

    What else the machine does meanwhile, and how fast its clock is, then affects all alike. Every
    second turn goes through them backwards, so that none always follows the same other.
    """
    order = list(ways)
    while any(way.is_running for way in order):
        for way in order:
            if way.is_running:
                way.step()
        order.reverse()
    return [way.run for way in ways]


def run_transformers(
    peer: str,
    model: PreTrainedModel,
    prompts: Sequence[tuple[int, ...]],
    *,
    spec: JsonSchema,
    vocabulary: Vocabulary,
    max_tokens: int,
) -> Run:
    """Answer all prompts in one batch of `model.generate`, greedily, with a peer's masks.

    The grammar is compiled before the clock starts, as it is for our engine.
    """
    run = Run(f"transformers + {peer}")
    pad = vocabulary.end_token_ids[0]
    width = max(map(len, prompts))
    padded = torch.tensor([[pad] * (width - len(prompt)) + list(prompt) for prompt in prompts])
    attention = torch.tensor(
        [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    )
    processor = _processor(peer, spec, vocabulary)
    with Stopwatch(run), torch.inference_mode():
        generated: Any = model.generate(  # type: ignore[operator]  # transformers' mixin is untyped
            padded,
            attention_mask=attention,
            do_sample=False,
            max_new_tokens=max_tokens,
            pad_token_id=pad,
            eos_token_id=list(vocabulary.end_token_ids),
            logits_processor=LogitsProcessorList([processor]),
        )
    for row in generated[:, width:].tolist():
        ends = [index for index, token in enumerate(row) if token in vocabulary.end_token_ids]
        run.token_ids.append(row[: ends[0]] if ends else row)
        run.num_whole += bool(ends)
    run.num_tokens = sum(map(len, run.token_ids))
    run.num_forward_passes = run.num_tokens
    return run


def _processor(peer: str, spec: JsonSchema, vocabulary: Vocabulary) -> LogitsProcessor:
    if peer != "xgrammar's own":
        return ConstraintLogitsProcessor(get_backend(peer).compile(spec, vocabulary))
    import xgrammar  # an extra that need not be installed
    from xgrammar.contrib.hf import LogitsProcessor as OwnProcessor

    info = xgrammar.TokenizerInfo(
        [vocabulary.token_bytes.get(i, b"") for i in range(vocabulary.padded_size)],
        xgrammar.VocabType.RAW,
        vocab_size=vocabulary.padded_size,
        stop_token_ids=list(vocabulary.end_token_ids),
    )
    compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_json_schema(
        spec.text, any_whitespace=False
    )
    processor: LogitsProcessor = OwnProcessor(compiled)
    return processor
