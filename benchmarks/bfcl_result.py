"""Scores of the evaluation: answers judged and counted, by category and mode."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.bfcl_score import find_mistake, is_valid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.bfcl_answer import Answer, Mode
    from benchmarks.bfcl_cases import Case

ALL: Final = "all"
"""The category that all cases together make."""


@dataclass(frozen=True, slots=True)
class Score:
    """The answers of one model to the cases of one category, in one mode.

    Args:
        model: its name.
        category: of the cases, or `ALL`.
        mode: what held the answers.
        num_cases: answered.
        num_right: by the rules of the leaderboard.
        num_calls: whole calls in all answers.
        num_valid_calls: those that are valid under their tool's schema.
        num_cut: answers that a token limit ended or narrowed.
        num_refused: requests that the server refused.
        mistakes: what was wrong with the others, and how often.
    """

    model: str
    category: str
    mode: Mode
    num_cases: int
    num_right: int
    num_calls: int
    num_valid_calls: int
    num_cut: int
    num_refused: int
    mistakes: Mapping[str, int]

    @property
    def is_exact(self) -> bool:
        """Whether every call is valid."""
        return self.num_valid_calls == self.num_calls


def score(model: str, category: str, mode: Mode, answered: Sequence[tuple[Case, Answer]]) -> Score:
    """Judge the answers of a model to cases, all in one mode."""
    mistakes = [
        find_mistake(case, answer.calls) for case, answer in answered if answer.refusal is None
    ]
    calls = [(call, case) for case, answer in answered for call in answer.calls]
    return Score(
        model=model,
        category=category,
        mode=mode,
        num_cases=len(answered),
        num_right=mistakes.count(None),
        num_calls=len(calls),
        num_valid_calls=sum(is_valid(call, case) for call, case in calls),
        num_cut=sum(answer.is_cut for _, answer in answered),
        num_refused=sum(answer.refusal is not None for _, answer in answered),
        mistakes=dict(Counter(mistake.value for mistake in mistakes if mistake is not None)),
    )


def scores_of(model: str, mode: Mode, answered: Sequence[tuple[Case, Answer]]) -> Iterator[Score]:
    """The scores by category, and one over all cases that want a call."""
    for category in dict.fromkeys(case.category for case, _ in answered):
        chosen = [(case, answer) for case, answer in answered if case.category == category]
        yield score(model, category, mode, chosen)
    wanting = [(case, answer) for case, answer in answered if case.expects_call]
    yield score(model, ALL, mode, wanting)
