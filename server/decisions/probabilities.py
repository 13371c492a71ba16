"""Probabilities of answers: each is scored whole, then they are made to sum to 1.

The score of an answer is the probability that the model's reply is this text and nothing else:

    P(answer) = P(t1) P(t2 | t1) ... P(tn | ...) * sum over end tokens e of P(e | t1 ... tn)

where t1 ... tn are its canonical tokens. The end counts, since otherwise "a" could never be less
likely than "ab". What is reported is P(answer) divided by the sum over all answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.scoring import score
from server.logs import new_sequence_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.scoring import RequestRunner
    from grammars.vocabulary import Vocabulary

_AT_ONCE: Final = 64
"""Continuations that are given to the engine together: others' requests are not kept waiting."""


@dataclass(frozen=True, slots=True)
class AnswerProbabilities:
    """The answers of one question.

    Args:
        probabilities: in the order of the answers; they sum to 1.
        num_cached_tokens: prompt tokens that had been computed before.
    """

    probabilities: tuple[float, ...]
    num_cached_tokens: int


async def answer_probabilities(
    engine: RequestRunner,
    vocabulary: Vocabulary,
    prompt_token_ids: tuple[int, ...],
    answers: Sequence[str],
    *,
    cache_salt: bytes = b"",
) -> AnswerProbabilities:
    """Score the answers of one question; the prompt is computed once.

    Args:
        engine: runs one request for each answer and end token.
        vocabulary: of the model.
        prompt_token_ids: up to where an answer begins.
        answers: whole replies.
        cache_salt: see `Request`.

    Raises:
        InvalidRequestError: prompt and an answer are too long together.
        RequestFailedError: an answer could not be scored.
        EngineDeadError: the engine has stopped.
    """
    ends = vocabulary.end_token_ids
    continuations = [
        (*vocabulary.encode(answer.encode()), end) for answer in answers for end in ends
    ]
    scores = []
    for start in range(0, len(continuations), _AT_ONCE):
        scores += await score(
            engine,
            prompt_token_ids,
            continuations[start : start + _AT_ONCE],
            request_id=new_sequence_id(),
            cache_salt=cache_salt,
        )
    by_end = [math.fsum(score.logprobs) for score in scores]
    logprobs = [
        _log_sum_exp(by_end[start : start + len(ends)])
        for start in range(0, len(by_end), len(ends))
    ]
    total = _log_sum_exp(logprobs)
    return AnswerProbabilities(
        tuple(math.exp(logprob - total) for logprob in logprobs),
        min(score.num_cached_tokens for score in scores),
    )


def _log_sum_exp(logs: Sequence[float]) -> float:
    """The log of a sum, from the logs of its terms; all finite."""
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(value - largest) for value in logs))
