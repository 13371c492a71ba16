"""Answers of a model to cases, and the file that keeps them from one run to the next."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from benchmarks.bfcl_score import Call

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Mode(StrEnum):
    """How an answer is constrained; the prompt is the same in all modes."""

    FREE = "free"  # nothing
    AUTO = "auto"  # tool_choice "auto": what begins as a call is a call of one of the tools
    REQUIRED = "required"  # tool_choice "required": one or more calls, and nothing else


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote for one case.

    Args:
        model: its name.
        mode: what held the answer.
        case_id: of the case.
        text: beside the calls.
        calls: those that are whole, in order.
        num_tokens: generated.
        is_cut: a token limit ended it.
        is_stopped: we ended it, since no call that might follow could have made it right.
        refusal: why the server refused the request, if it did.
        cpu_s: CPU seconds of the process since the answer before it was kept; over all answers
            they add up to what they have cost.
    """

    model: str
    mode: Mode
    case_id: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    num_tokens: int = 0
    is_cut: bool = False
    is_stopped: bool = False
    refusal: str | None = None
    cpu_s: float = 0.0


class SettingsError(Exception):
    """A file holds answers that were generated with other settings."""


class AnswerFile:
    """Answers on disk: a line of settings, then one answer per line, none generated twice.

    Args:
        path: of the file, made if need be; None: answers are kept in memory alone.
        settings: all that answers depend on, but model, mode and case.

    Raises:
        SettingsError: the file was made with other settings.
    """

    def __init__(self, path: Path | None, settings: Mapping[str, Any]) -> None:
        self._path = path
        self._answers: dict[tuple[str, Mode, str], Answer] = {}
        if path is None:
            return
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings) + "\n", encoding="utf-8")
            return
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        if json.loads(first) != settings:
            raise SettingsError(f"{path} was made with {first}, not {json.dumps(settings)}")
        for line in lines:
            self._add(_from_json(json.loads(line)))

    def find(self, model: str, mode: Mode, case_id: str) -> Answer | None:
        """The answer of a model to a case, or None."""
        return self._answers.get((model, mode, case_id))

    def of(self, model: str) -> list[Answer]:
        """All answers of a model."""
        return [answer for answer in self._answers.values() if answer.model == model]

    def keep(self, answer: Answer) -> None:
        """Add an answer, on disk at once."""
        self._add(answer)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(answer), ensure_ascii=False) + "\n")

    def _add(self, answer: Answer) -> None:
        self._answers[answer.model, answer.mode, answer.case_id] = answer


def _from_json(fields: Mapping[str, Any]) -> Answer:
    calls = tuple(Call(**call) for call in fields["calls"])
    return Answer(**{**fields, "mode": Mode(fields["mode"]), "calls": calls})
