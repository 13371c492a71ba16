"""The body of decisions: one answer for each question, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from server.wire.decisions import ChoiceQuestion, PredicateQuestion, ScoreQuestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.answer.bodies import Json
    from server.decisions.decide import Decision
    from server.wire.decisions import DecisionsRequest, Question


def decisions_body(model: str, request: DecisionsRequest, decisions: Sequence[Decision]) -> Json:
    """The whole body."""
    pairs = zip(request.questions, decisions, strict=True)
    return {
        "answers": [_answer(question, decision.probabilities) for question, decision in pairs],
        "model": model,
        "usage": _usage(decisions),
    }


def _answer(question: Question, probabilities: Sequence[float]) -> Json:
    head: Json = {"type": question.type, "name": question.name}
    match question:
        case PredicateQuestion():
            return head | {"probability": probabilities[0]}
        case ChoiceQuestion():
            values = [option.value for option in question.choices]
            likeliest = max(range(len(values)), key=lambda index: probabilities[index])
            return head | {
                "choice": values[likeliest],
                "confidence": probabilities[likeliest],
                "probabilities": [
                    {"value": value, "probability": probability}
                    for value, probability in zip(values, probabilities, strict=True)
                ],
            }
        case ScoreQuestion():
            return head | {
                "score": sum(
                    value * probability for value, probability in enumerate(probabilities)
                ),
                "confidence": max(probabilities),
                "probabilities": [
                    {"value": value, "label": level.label, "probability": probability}
                    for value, (level, probability) in enumerate(
                        zip(question.levels, probabilities, strict=True)
                    )
                ],
            }
        case _:
            assert_never(question)


def _usage(decisions: Sequence[Decision]) -> Json:
    """Every question has a prompt of its own; nothing is generated, answers are only scored."""
    num_input = sum(decision.num_prompt_tokens for decision in decisions)
    num_cached = sum(decision.num_cached_tokens for decision in decisions)
    return {
        "input_tokens": num_input,
        "input_tokens_details": {"cached_tokens": num_cached, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": num_input,
    }
