"""The measurement of one backend on one schema, in this process."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import psutil

from benchmarks.case_compiler import case_compiler
from benchmarks.cfg_cases import CfgCase
from benchmarks.clock import Clock
from benchmarks.mask_cases import MaskCase
from grammars.errors import GrammarError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from grammars.protocol import CompiledGrammar, GrammarMatcher
    from grammars.spec import CfgSyntax, Whitespace
    from grammars.vocabulary import Vocabulary

_WARM_UP_SCHEMA: Final = MaskCase(
    name="warm-up",
    about="One of each kind of value.",
    schema='{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}},'
    '"b":{"type":"string","maxLength":9},"c":{"type":"string"},"d":{"type":"number"},'
    '"e":{"type":"boolean"}},"required":["a","b","c","d","e"],"additionalProperties":false}',
    valid=(
        '{"a":[1,22],"b":"xyz","c":"x y","d":-1.5,"e":true}',
        '{"a": [1, 22], "b": "xyz", "c": "x y", "d": -1.5, "e": true}',
    ),
    invalid=(),
)
_WARM_UP_GRAMMARS: Final[dict[CfgSyntax, CfgCase]] = {
    case.syntax: case
    for case in (
        CfgCase(
            name="warm-up",
            about="Words in brackets.",
            syntax="lark",
            grammar='start: WORD | "(" start ("," start)* ")"\nWORD: /[a-z]+/\n%ignore " "',
            valid=("((a, word), end)",),
            invalid=(),
        ),
        CfgCase(
            name="warm-up",
            about="The same.",
            syntax="gbnf",
            grammar='root ::= " "* ([a-z]+ | "(" root ("," root)* ")")',
            valid=("((a, word), end)",),
            invalid=(),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class MaskMeasurement:
    """What one backend did with one schema; times are medians over the repeats.

    Args:
        refusal: why the backend would not compile it, a named refusal; else None.
        failure: how the measurement broke off (a crash, no end in time); else None. The numbers
            mean something only where both are None.
        is_over_limit: whether it broke off because there was no end in time.
        compile_ms: `backend.compile`, the vocabulary's own tables being ready.
        first_mask_us: making a matcher and filling its first mask.
        step_us: for each token of the valid documents, in order: filling the mask and accepting the
            token, on the freshly compiled grammar.
        again_us: the same, going over the same documents once more with the same grammar.
        memory_bytes: what the backend says the grammar holds after the documents.
        rss_bytes: growth of the process's resident memory over the first compile and its documents;
            0 where they fit into memory that the warm-up had left.
        num_valid: how many valid documents there were.
        valid_refused: how many of them it would not write, or not end.
        num_invalid: how many invalid documents there were.
        invalid_accepted: how many of them it took as complete.
    """

    refusal: str | None = None
    failure: str | None = None
    is_over_limit: bool = False
    compile_ms: float = 0.0
    first_mask_us: float = 0.0
    step_us: tuple[float, ...] = ()
    again_us: tuple[float, ...] = ()
    memory_bytes: int = 0
    rss_bytes: int = 0
    num_valid: int = 0
    valid_refused: int = 0
    num_invalid: int = 0
    invalid_accepted: int = 0

    @property
    def is_measured(self) -> bool:
        """Whether there are figures."""
        return self.refusal is None and self.failure is None


def measure(
    backend_name: str,
    case: MaskCase | CfgCase,
    vocabulary: Vocabulary,
    *,
    whitespace: Whitespace,
    repeats: int,
    clock: Clock = Clock.WALL,
) -> MaskMeasurement:
    """Measure and judge one backend on one case.

    From repeat to repeat nothing is kept but what the backend keeps for the vocabulary.

    Args:
        backend_name: as `get_backend` takes it.
        case: the schema or grammar, and its documents.
        vocabulary: the tokens.
        whitespace: of a schema's spec; its documents are spelled so.
        repeats: fresh compiles, each followed by all documents, >= 1.
        clock: of the times.
    """
    try:
        _warm_up(backend_name, case, vocabulary, whitespace)
        compile_case = case_compiler(backend_name, case, whitespace)
        documents = [vocabulary.encode(text.encode()) for text in case.valid]
        gc.collect()
        rss_before = _rss_bytes()
        runs = [_Run.of(compile_case, vocabulary, documents, clock.read)]
        rss_bytes = max(0, _rss_bytes() - rss_before)
        runs += [
            _Run.of(compile_case, vocabulary, documents, clock.read) for _ in range(1, repeats)
        ]
    except GrammarError as error:
        return MaskMeasurement(refusal=str(error))
    compiled = runs[-1].compiled
    judge = _Judge(compiled, vocabulary)
    return MaskMeasurement(
        compile_ms=float(np.median([run.compile_ns for run in runs])) / 1e6,
        first_mask_us=float(np.median([run.first_mask_ns for run in runs])) / 1e3,
        step_us=_medians_us([run.steps_ns for run in runs]),
        again_us=_medians_us([run.again_ns for run in runs]),
        memory_bytes=compiled.memory_bytes,
        rss_bytes=rss_bytes,
        num_valid=len(case.valid),
        valid_refused=sum(not judge.writes(text) for text in case.valid),
        num_invalid=len(case.invalid),
        invalid_accepted=sum(judge.accepts(text) for text in case.invalid),
    )


def _rss_bytes() -> int:
    """Memory of this process."""
    return int(psutil.Process().memory_info().rss)


@dataclass(frozen=True, slots=True)
class _Run:
    """One new compile and the steps after it."""

    compiled: CompiledGrammar
    compile_ns: int
    first_mask_ns: int
    steps_ns: list[int]
    again_ns: list[int]

    @classmethod
    def of(
        cls,
        compile_case: Callable[[Vocabulary], CompiledGrammar],
        vocabulary: Vocabulary,
        documents: Sequence[list[int]],
        clock: Callable[[], int],
    ) -> _Run:
        row = np.zeros(vocabulary.num_words, np.int32)
        gc.collect()
        gc.disable()
        try:
            start = clock()
            compiled = compile_case(vocabulary)
            compiled_at = clock()
            compiled.matcher().fill_bitmask(row)
            first_mask_at = clock()
            steps_ns = _step_times(compiled, documents, row, clock)
            again_ns = _step_times(compiled, documents, row, clock)
        finally:
            gc.enable()
        return cls(compiled, compiled_at - start, first_mask_at - compiled_at, steps_ns, again_ns)


def _step_times(
    compiled: CompiledGrammar,
    documents: Sequence[list[int]],
    row: NDArray[np.int32],
    clock: Callable[[], int],
) -> list[int]:
    """Nanoseconds of fill and accept for each token; a refused token ends its document."""
    times: list[int] = []
    for token_ids in documents:
        matcher = compiled.matcher()
        fill_bitmask, accept_token = matcher.fill_bitmask, matcher.accept_token
        for token_id in token_ids:
            start = clock()
            fill_bitmask(row)
            accepted = accept_token(token_id)
            times.append(clock() - start)
            if not accepted:
                break
    return times


class _Judge:
    """Whether texts can be written, and whether they are accepted."""

    def __init__(self, compiled: CompiledGrammar, vocabulary: Vocabulary) -> None:
        self._compiled = compiled
        self._vocabulary = vocabulary
        self._row = np.zeros(vocabulary.num_words, np.int32)
        self._ids_of: dict[bytes, list[int]] = {}
        for token_id, data in vocabulary.token_bytes.items():
            self._ids_of.setdefault(data, []).append(token_id)
        self._longest_token = max(map(len, self._ids_of))

    def writes(self, text: str) -> bool:
        """Whether the masks let the text be written, and then an end token.

        Any cut of the text will do: llguidance, where text is forced, allows only one of its own.
        """
        matcher = self._compiled.matcher()
        rest = text.encode()
        while rest:
            token_id = self._longest_allowed(matcher, rest)
            if token_id is None or not matcher.accept_token(token_id):
                return False
            rest = rest[len(self._vocabulary.token_bytes[token_id]) :]
        end_token_id = self._vocabulary.end_token_ids[0]
        matcher.fill_bitmask(self._row)
        return self._is_allowed(end_token_id) and matcher.accept_token(end_token_id)

    def _longest_allowed(self, matcher: GrammarMatcher, rest: bytes) -> int | None:
        """The allowed token that covers most of `rest`."""
        matcher.fill_bitmask(self._row)
        for length in range(min(len(rest), self._longest_token), 0, -1):
            for token_id in self._ids_of.get(rest[:length], ()):
                if self._is_allowed(token_id):
                    return token_id
        return None

    def _is_allowed(self, token_id: int) -> bool:
        return bool(int(self._row[token_id // 32]) >> (token_id % 32) & 1)

    def accepts(self, text: str) -> bool:
        """Whether every token is accepted and the text is then complete."""
        matcher = self._compiled.matcher()
        token_ids = self._vocabulary.encode(text.encode())
        return all(map(matcher.accept_token, token_ids)) and matcher.is_complete


def _warm_up(
    backend_name: str, case: MaskCase | CfgCase, vocabulary: Vocabulary, whitespace: Whitespace
) -> None:
    """Build what is built once for a vocabulary and load all kernels, on another case."""
    other = _WARM_UP_SCHEMA if isinstance(case, MaskCase) else _WARM_UP_GRAMMARS[case.syntax]
    judge = _Judge(case_compiler(backend_name, other, whitespace)(vocabulary), vocabulary)
    for text in other.valid:
        judge.writes(text)


def _medians_us(runs: Sequence[list[int]]) -> tuple[float, ...]:
    """The median of each step over the runs, in microseconds."""
    return tuple((np.median(np.array(runs, np.float64), axis=0) / 1e3).tolist())
