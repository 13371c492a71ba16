"""The measurement of one engine on one schema, by MaskBench's rules, in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.grammar_outcome import Measured, Refused, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.clock import Clock
    from benchmarks.engines.base import Engine, EngineGrammar, EngineMatcher, Json


@dataclass(frozen=True, slots=True)
class Document:
    """An instance as tokens.

    Args:
        token_ids: of its text, without special tokens.
        is_valid: whether the schema allows it.
    """

    token_ids: tuple[int, ...]
    is_valid: bool


@dataclass(frozen=True, slots=True)
class Job:
    """What an engine is asked to do with one schema."""

    schema: Json
    documents: tuple[Document, ...]


_NO_STEPS: Final = np.zeros(0, np.int64)


def measure(engine: Engine, job: Job, clock: Clock) -> Measured | Refused:
    """Compile a schema and write its documents."""
    read = clock.read
    start = read()
    try:
        grammar = engine.compile(job.schema)
    except Exception as error:  # noqa: BLE001 - MaskBench: whatever is raised is a compile error
        return Refused(_one_line(error))
    compile_ns = read() - start
    prepare: Callable[[], None] | None = getattr(grammar, "prepare", None)
    if prepare is not None:
        prepare()
    if not job.documents:
        return Measured(compile_ns, _Opening.of(grammar, read).total_ns, _NO_STEPS, ())
    steps: list[int] = []
    runs = [_write(grammar, document, read, steps) for document in job.documents]
    return Measured(
        compile_ns=compile_ns,
        first_mask_ns=runs[0][0],
        step_ns=np.array(steps, np.int64),
        written=tuple(written for _, written in runs),
    )


@dataclass(frozen=True, slots=True)
class _Opening:
    """A matcher with its first mask."""

    matcher: EngineMatcher
    total_ns: int
    mask_ns: int

    @classmethod
    def of(cls, grammar: EngineGrammar, read: Callable[[], int]) -> _Opening:
        start = read()
        matcher = grammar.matcher()
        made_at = read()
        matcher.compute_mask()
        end = read()
        return cls(matcher, end - start, end - made_at)


def _write(
    grammar: EngineGrammar, document: Document, read: Callable[[], int], steps: list[int]
) -> tuple[int, Written]:
    """Write a document, append its step times to `steps`.

    Returns:
        Nanoseconds of the matcher and its first mask, 0 where that raised; and what became of it.
    """
    opening_ns = 0
    is_valid, num_tokens = document.is_valid, len(document.token_ids)
    try:
        opening = _Opening.of(grammar, read)
        opening_ns = opening.total_ns
        refused_at = _follow(opening, document.token_ids, read, steps)
        can_end = refused_at is None and opening.matcher.can_end()
    except Exception as error:  # noqa: BLE001 - MaskBench: it is counted, the next document follows
        return opening_ns, Written(is_valid, num_tokens, error=_one_line(error))
    return opening_ns, Written(is_valid, num_tokens, refused_at, can_end)


def _follow(
    opening: _Opening, token_ids: Sequence[int], read: Callable[[], int], steps: list[int]
) -> int | None:
    """Mask and commit token by token; the index of the first that is refused."""
    compute_mask, commit_token = opening.matcher.compute_mask, opening.matcher.commit_token
    for index, token_id in enumerate(token_ids):
        start = read()
        if index:
            compute_mask()
        accepted = commit_token(token_id)
        elapsed = read() - start
        steps.append(elapsed if index else elapsed + opening.mask_ns)
        if not accepted:
            return index
    return None


def _one_line(error: Exception) -> str:
    """Its kind and message, at most 300 characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
