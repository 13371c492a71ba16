"""ServeResult: one load on one server, in figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.serve_client import Answer


@dataclass(frozen=True, slots=True)
class Slo:
    """Times that users find fast enough, in milliseconds.

    Args:
        first_ms: to the first piece.
        token_ms: a token after it, in the mean.
    """

    first_ms: float
    token_ms: float

    def is_met(self, answer: Answer) -> bool:
        """Whether the answer is right and came in time."""
        if not answer.is_right or answer.first_s is None:
            return False
        return 1e3 * answer.first_s <= self.first_ms and token_ms(answer) <= self.token_ms


def token_ms(answer: Answer) -> float:
    """Time per output token after the first piece (TPOT)."""
    if answer.first_s is None or answer.num_tokens < 2:
        return 0.0
    return 1e3 * (answer.total_s - answer.first_s) / (answer.num_tokens - 1)


@dataclass(frozen=True, slots=True)
class ServeResult:
    """Times in milliseconds, rates per second.

    Args:
        load: "50 %, 16 at once".
        constrained_percent: of the requests.
        num_requests: sent.
        num_right: answered whole and by their schema.
        num_cut: ended by the token limit before they were whole.
        faults: of all others, with how often each occurred.
        seconds: from the first request to the last answer.
        tokens_per_s: generated, over all answers.
        answers_per_s: right answers.
        goodput: right answers within the SLO.
        first_ms: TTFT.
        token_ms: TPOT.
        gap_ms: ITL, between pieces.
        total_ms: end to end.
    """

    load: str
    constrained_percent: int
    num_requests: int
    num_right: int
    num_cut: int
    faults: dict[str, int]
    seconds: float
    tokens_per_s: float
    answers_per_s: float
    goodput: float
    first_ms: Spread | None
    token_ms: Spread | None
    gap_ms: Spread | None
    total_ms: Spread | None


def summarise(
    load: str, answers: Sequence[Answer], *, constrained_percent: int, seconds: float, slo: Slo
) -> ServeResult:
    """The figures of one load.

    Args:
        load: its name.
        answers: of all requests.
        constrained_percent: of them.
        seconds: from the first request to the last answer.
        slo: of the goodput.
    """
    num_right = sum(answer.is_right for answer in answers)
    faults = Counter(answer.fault for answer in answers if answer.fault)
    return ServeResult(
        load=load,
        constrained_percent=constrained_percent,
        num_requests=len(answers),
        num_right=num_right,
        num_cut=faults.pop("cut", 0),
        faults=dict(faults),
        seconds=seconds,
        tokens_per_s=sum(answer.num_tokens for answer in answers) / seconds,
        answers_per_s=num_right / seconds,
        goodput=sum(map(slo.is_met, answers)) / seconds,
        first_ms=_spread([1e3 * a.first_s for a in answers if a.first_s is not None]),
        token_ms=_spread([token_ms(a) for a in answers if a.num_tokens > 1]),
        gap_ms=_spread([1e3 * gap for a in answers for gap in a.gaps_s]),
        total_ms=_spread([1e3 * a.total_s for a in answers if not a.fault.startswith("HTTP")]),
    )


def _spread(times: list[float]) -> Spread | None:
    return Spread.of(times) if times else None
