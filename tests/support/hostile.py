"""Hostile compiler inputs, each judged in a forked process by its own CPU time and memory."""

from __future__ import annotations

import multiprocessing
import random
import resource
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from grammars.compile import compile_grammar
from grammars.errors import GrammarError
from grammars.spec import Cfg, JsonSchema, Regex

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from grammars.masks.renewal import RenewedGrammar
    from grammars.protocol import GrammarMatcher
    from grammars.spec import TextSpec
    from grammars.vocabulary import Vocabulary

Kind = Literal["schema", "regex", "grammar"]

CPU_FENCE_S = 60
"""The kernel ends a case after so much CPU time."""

NUM_WALKS = 5
WALK_TOKENS = 150


@dataclass(frozen=True)
class Case:
    """One input for a compiler.

    Args:
        name: unique.
        kind: which compiler it is for.
        text: the input; None where its bytes are no UTF-8, which the server refuses by itself.
        verdict: "reject" (must be refused), "accept" (must work), "either".
        within_s: CPU seconds of a compile.
        rss_mb: by how much the process may grow.
        valid: texts that an accepted grammar accepts whole.
        invalid: texts that it refuses.
        step_ms: CPU milliseconds of the slowest mask; None: not judged.
        num_steps: tokens of each walk.
    """

    name: str
    kind: Kind
    text: str | None
    verdict: str
    within_s: float = 2.0
    rss_mb: float = 512.0
    valid: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    step_ms: float | None = None
    num_steps: int = WALK_TOKENS

    @property
    def spec(self) -> TextSpec:
        assert self.text is not None
        match self.kind:
            case "schema":
                return JsonSchema(self.text)
            case "regex":
                return Regex(self.text)
            case "grammar":
                return Cfg("gbnf", self.text)


@dataclass
class Outcome:
    """What became of a case.

    Args:
        verdict: "accepted", "refused", or what went wrong with the process itself.
        reason: of a refusal or a failure.
        compile_s: CPU seconds to the first mask.
        grown_mb: growth of the process's peak.
        slowest_step_ms: CPU milliseconds of the slowest mask and accept in the walks.
        faults: everything that is not as it should be; empty: the case is survived.
    """

    verdict: str = "accepted"
    reason: str = ""
    compile_s: float = 0.0
    grown_mb: float = 0.0
    slowest_step_ms: float = 0.0
    faults: list[str] = field(default_factory=list)


def judge(case: Case, vocabulary: Vocabulary, *, slack: float = 1.0) -> Outcome:
    """Compile the case in a forked process, read its texts, walk its language.

    Args:
        case: what to judge.
        vocabulary: of the masks; its kernels should be warm.
        slack: how many times `within_s` and `step_ms` are allowed (a shared machine is slower).
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(case, vocabulary, theirs))
    process.start()
    theirs.close()
    try:
        outcome = ours.recv()
    except EOFError:
        process.join()
        outcome = Outcome(f"process ended by {process.exitcode}")
        outcome.faults.append(outcome.verdict)
        return outcome
    process.join()
    assert isinstance(outcome, Outcome)
    _judge_figures(case, outcome, slack)
    return outcome


def _judge_figures(case: Case, outcome: Outcome, slack: float) -> None:
    if case.verdict == "reject" and outcome.verdict == "accepted":
        outcome.faults.append("accepted, though it must be refused")
    if case.verdict == "accept" and outcome.verdict == "refused":
        outcome.faults.append(f"refused, though it must work: {outcome.reason}")
    if outcome.compile_s > case.within_s * slack:
        outcome.faults.append(f"took {outcome.compile_s:.2f} s of CPU")
    if outcome.grown_mb > case.rss_mb:
        outcome.faults.append(f"grew by {outcome.grown_mb:.0f} MB")
    if case.step_ms is not None and outcome.slowest_step_ms > case.step_ms * slack:
        outcome.faults.append(f"a step took {outcome.slowest_step_ms:.1f} ms of CPU")


def _work(case: Case, vocabulary: Vocabulary, connection: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_FENCE_S, CPU_FENCE_S))
    outcome = Outcome()
    before = _peak_mb()
    began = time.process_time()
    try:
        grammar = _compiled(case, vocabulary, outcome)
        if grammar is not None:
            grammar.matcher().fill_bitmask(_row(vocabulary))
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is what we look for
        outcome.verdict = "crashed"
        outcome.faults.append(f"{type(error).__name__}: {str(error)[:200]}")
    outcome.compile_s = time.process_time() - began
    if outcome.verdict == "accepted":
        _use(case, grammar, vocabulary, outcome)
    outcome.grown_mb = _peak_mb() - before
    connection.send(outcome)


def _compiled(case: Case, vocabulary: Vocabulary, outcome: Outcome) -> RenewedGrammar | None:
    """Refusals come from here alone: what the first mask raises would be too late."""
    try:
        return compile_grammar(case.spec, vocabulary)
    except GrammarError as error:
        outcome.verdict, outcome.reason = "refused", str(error)[:300]
        return None


def _use(case: Case, grammar: Any, vocabulary: Vocabulary, outcome: Outcome) -> None:
    try:
        for text in case.valid:
            if not _accepts(grammar.matcher(), vocabulary, text):
                outcome.faults.append(f"refuses the valid text {text[:80]!r}")
        for text in case.invalid:
            if _accepts(grammar.matcher(), vocabulary, text):
                outcome.faults.append(f"accepts the invalid text {text[:80]!r}")
        for seed in range(NUM_WALKS):
            _walk(case, grammar.matcher(), vocabulary, random.Random(seed), outcome)
    except BaseException as error:  # noqa: BLE001  # as above
        outcome.faults.append(f"late {type(error).__name__}: {str(error)[:200]}")


def _accepts(matcher: GrammarMatcher, vocabulary: Vocabulary, text: str) -> bool:
    tokens = vocabulary.encode(text.encode())
    return all(matcher.accept_token(token) for token in tokens) and matcher.is_complete


def _walk(
    case: Case,
    matcher: GrammarMatcher,
    vocabulary: Vocabulary,
    chance: random.Random,
    outcome: Outcome,
) -> None:
    row = _row(vocabulary)
    for _ in range(case.num_steps):
        began = time.process_time()
        matcher.fill_bitmask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        if len(allowed) == 0:
            outcome.faults.append("dead end: an empty mask")
            return
        token_id = int(allowed[chance.randrange(len(allowed))])
        if token_id in vocabulary.end_token_ids or not matcher.accept_token(token_id):
            if token_id not in vocabulary.end_token_ids:
                outcome.faults.append("an allowed token is refused")
            return
        elapsed_ms = 1000 * (time.process_time() - began)
        outcome.slowest_step_ms = max(outcome.slowest_step_ms, elapsed_ms)
        if matcher.is_terminated:
            return


def _row(vocabulary: Vocabulary) -> Any:
    return np.zeros(vocabulary.num_words, np.int32)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
