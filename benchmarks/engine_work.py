"""The prompts of the engine benchmark: documents, and calls with much forced text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_SUBJECTS: Final = (
    "a lighthouse keeper", "the harbour of Lisbon", "a chess tournament", "a night train",
    "a small garden", "the repair of a bicycle", "an order of books", "a recipe with lentils",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WorkSet:
    """Prompts that are answered under one schema.

    Args:
        name: of the set.
        question: with a place for the subject.
        schema: of every answer.
    """

    name: str
    question: str
    schema: dict[str, Any]


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


WORK_SETS: Final = (
    WorkSet(
        "documents",
        "Describe {subject} as JSON.",
        _object(
            {
                "title": {"type": "string", "maxLength": 60},
                "summary": {"type": "string", "minLength": 60, "maxLength": 160},
                "year": {"type": "integer", "minimum": 1900, "maximum": 2100},
                "tags": {
                    "type": "array",
                    "items": {"type": "string", "maxLength": 20},
                    "minItems": 2,
                    "maxItems": 4,
                },
            }
        ),
    ),
    WorkSet(
        "tool calls",
        "Call a function for {subject}.",
        {
            "anyOf": [
                _object(
                    {
                        "name": {"const": "create_calendar_entry"},
                        "arguments": _object(
                            {
                                "title": {"type": "string", "maxLength": 30},
                                "day_of_week": {"enum": ["monday", "wednesday", "friday"]},
                                "duration_minutes": {
                                    "type": "integer",
                                    "minimum": 5,
                                    "maximum": 90,
                                },
                                "send_invitations": {"type": "boolean"},
                            }
                        ),
                    }
                ),
                _object(
                    {
                        "name": {"const": "search_documents"},
                        "arguments": _object(
                            {
                                "query": {"type": "string", "maxLength": 30},
                                "max_results": {"type": "integer", "minimum": 1, "maximum": 20},
                                "include_archived": {"type": "boolean"},
                            }
                        ),
                    }
                ),
            ]
        },
    ),
)


def make_prompts(
    tokenizer: PreTrainedTokenizerFast, work: WorkSet, count: int
) -> list[tuple[int, ...]]:
    """Token ids of `count` chats, the subjects in turn."""
    prompts = []
    for number in range(count):
        question = work.question.format(subject=_SUBJECTS[number % len(_SUBJECTS)])
        chat = [{"role": "user", "content": f"{number}. {question}"}]
        text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        prompts.append(tuple(tokenizer(text, add_special_tokens=False)["input_ids"]))
    return prompts
