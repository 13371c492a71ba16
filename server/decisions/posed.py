"""PosedQuestion: a question in words, and the texts that answer it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from server.wire.decisions import ChoiceQuestion, PredicateQuestion, ScoreQuestion
from server.wire.responses.items import item_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.wire.decisions import Question

YES_AND_NO: Final = ("yes", "no")
"""The answers to a predicate."""


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    """What the model is asked, behind the input.

    Args:
        text: the last message of the user.
        answers: the whole replies that are compared, all different.
    """

    text: str
    answers: tuple[str, ...]


def pose(question: Question) -> PosedQuestion:
    """The words of a question.

    Values are written as they are, booleans as `true` and `false`. Where a string spells a boolean
    that is an answer too, all values of the question are written as JSON, which tells them apart.
    """
    instructions = item_text(question.instructions)
    match question:
        case PredicateQuestion():
            text = (
                f"Is this statement about the above true?\n{instructions}\n\n"
                f"Answer with one word: {' or '.join(YES_AND_NO)}."
            )
            return PosedQuestion(text, YES_AND_NO)
        case ChoiceQuestion():
            answers = _texts([option.value for option in question.choices])
            listed = _listed(answers, [option.description for option in question.choices])
            text = f"{instructions}\n\nAnswer with exactly one of these:\n{listed}"
            return PosedQuestion(text, answers)
        case ScoreQuestion():
            answers = tuple(level.label for level in question.levels)
            listed = _listed(answers, [level.description for level in question.levels])
            text = (
                f"{instructions}\n\n"
                f"Answer with exactly one of these levels, the lowest first:\n{listed}"
            )
            return PosedQuestion(text, answers)
        case _:
            assert_never(question)


def _texts(values: Sequence[str | bool]) -> tuple[str, ...]:
    texts = tuple(value if isinstance(value, str) else json.dumps(value) for value in values)
    if len(set(texts)) == len(texts):
        return texts
    return tuple(json.dumps(value, ensure_ascii=False) for value in values)


def _listed(answers: Sequence[str], descriptions: Sequence[str | None]) -> str:
    return "\n".join(
        f"- {answer}: {description}" if description else f"- {answer}"
        for answer, description in zip(answers, descriptions, strict=True)
    )
