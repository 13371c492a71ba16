"""The list of an engine's failures, one per line."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from benchmarks.grammar_outcome import Broken, Measured, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.grammar_outcome import Written
    from benchmarks.grammar_result import Result


def failure_lines(results: Iterable[Result]) -> Iterator[str]:
    """Engine, schema, kind and reason, with tabs between; documents are numbered from 0."""
    for result in results:
        for kind, reason in _failures(result):
            yield "\t".join((result.engine, result.name, kind, reason))


def _failures(result: Result) -> Sequence[tuple[str, str]]:
    match result.outcome:
        case Refused(reason):
            return [("compile_error", reason)]
        case Broken(is_timeout, reason):
            return [("timeout" if is_timeout else "crash", reason)]
        case Measured(written=documents):
            found = [(index, _wrong(written)) for index, written in enumerate(documents)]
            return [
                (problem[0], f"document {index} {problem[1]}")
                for index, problem in found
                if problem
            ]
        case _:
            assert_never(result.outcome)


def _wrong(written: Written) -> tuple[str, str] | None:
    """Kind and reason, or None for what is right under both rules."""
    if written.error is not None:
        return "raised", f"raised {written.error}"
    if written.is_right(with_end=True) and written.is_right(with_end=False):
        return None
    if not written.is_valid:
        if written.can_end:
            return (
                "invalid_accepted",
                f"of {written.num_tokens} tokens was accepted as a whole text",
            )
        return "invalid_not_refused", (
            f"of {written.num_tokens} tokens was accepted, but its end was not: MaskBench counts it"
        )
    if written.refused_at is None:
        return "valid_not_ended", f"of {written.num_tokens} tokens was written, but could not end"
    return "valid_refused", f"was refused at token {written.refused_at} of {written.num_tokens}"
