"""Every cell of thinking x tool_choice x parallel_tool_calls x response_format, in every format.

For each cell: which answers the grammar allows, what the parser makes of those, and how they end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import cycle, product
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from engine.output import FinishReason, RequestOutput
from grammars.spec import Cfg, Embed, Structure
from server.calls.formats import FORMATS, calls_text
from server.chat.reply_format import ReplyFormat
from server.chat.thinking import MISTRAL_THINK, THINK, Thinking
from server.composition import compose
from server.document import requested_document
from server.reply.choice import ChoiceReply
from server.tool_choice import tool_use
from server.wire.policy import parse_chat_request
from tests.support.byte_vocabulary import byte_vocabulary
from tests.support.folding import fold
from tests.support.grammar_texts import TextJudge
from tests.support.scripted_engine import token_ids_of

if TYPE_CHECKING:
    from server.calls.syntax import CallSyntax

SCHEMA: Any = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
TOOLS: Any = [
    {"type": "function", "function": {"name": "a", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "b"}},
]
NAMED: Any = {"type": "function", "function": {"name": "b"}}


def allowed_tools(mode: str) -> Any:
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [NAMED]}}


CHOICES = {
    "none": "none",
    "default": None,
    "auto": "auto",
    "required": "required",
    "named": NAMED,
    "allowed auto": allowed_tools("auto"),
    "allowed required": allowed_tools("required"),
}
DOCUMENTS = {
    "text": {"type": "text"},
    "json_object": {"type": "json_object"},
    "json_schema": {"type": "json_schema", "json_schema": {"name": "d", "schema": SCHEMA}},
    "regex": {"type": "regex", "pattern": r"\{\"n\": [0-9]\}"},
}
Made: TypeAlias = tuple[str, Any]
A: Made = ("a", {"n": 1})
B: Made = ("b", {})
WRONG: Made = ("a", {"n": "x"})
NOBODY: Made = ("c", {})


@dataclass(frozen=True)
class Answer:
    """An answer behind the thoughts: some text and then some calls, or a document."""

    text: str
    calls: tuple[Made, ...] = ()
    is_document: bool = False


ANSWERS = [
    Answer(""),
    Answer("hi"),
    Answer('{"n": 1}', is_document=True),
    Answer("[1]"),
    Answer("", (A,)),
    Answer("", (B,)),
    Answer("", (A, B)),
    Answer("", (B, B, B)),
    Answer("hi ", (B,)),
    Answer("", (WRONG,)),
    Answer("", (NOBODY,)),
]


def names_of(choice: str) -> list[str]:
    """The tools that may be called."""
    some = {"none": [], "named": ["b"], "allowed auto": ["b"], "allowed required": ["b"]}
    return some.get(choice, ["a", "b"])


def meant(answer: Answer, choice: str, document: str, syntax: CallSyntax) -> Answer:
    """The answer as it is to be read: bare JSON is a call only where it begins the answer, and
    beside any object only if it names a tool; all else that looks like one is text."""
    if syntax.opener is not None or not answer.calls:
        return answer
    text = answer.text + calls_text(syntax, answer.calls)
    if document == "text" and answer.text:
        return Answer(text)
    if document == "json_object" and len(answer.calls) == 1 and not answer.text:
        is_call = answer.calls[0][0] in names_of(choice)
        return answer if is_call else Answer(text, is_document=True)
    return answer


def is_allowed(
    answer: Answer, choice: str, document: str, *, is_parallel: bool, tags: bool
) -> bool:
    """The table in words: what may be written in a cell."""
    names = names_of(choice)
    if answer.calls:
        is_free = choice in ("default", "auto", "allowed auto") and document == "text"
        return (
            all(name in names and call != WRONG for call in answer.calls for name in [call[0]])
            and (len(answer.calls) == 1 or (is_parallel and choice != "named"))
            and (not answer.text or (is_free and tags))
        )
    if choice in ("required", "named", "allowed required"):
        return False
    return document == "text" or answer.is_document


CELLS = list(
    zip(
        product(Thinking, CHOICES, (None, True, False), DOCUMENTS),
        cycle(product((THINK, MISTRAL_THINK, THINK), FORMATS.values())),
        strict=False,
    )
)


@pytest.mark.parametrize(
    ("cell", "reply_format"),
    [(cell, ReplyFormat(syntax, thoughts)) for cell, (thoughts, syntax) in CELLS],
    ids=[f"{cell[0].value}-{cell[1]}-{cell[2]}-{cell[3]}-{f[1].name}" for cell, f in CELLS],
)
def test_a_cell_allows_exactly_its_answers_and_they_are_read_as_they_were_meant(cell, reply_format):
    thinking, choice, parallel, document_name = cell
    request = parse_chat_request(
        {
            "model": "m",
            "messages": [{"role": "user", "content": "q"}],
            "tools": TOOLS,
            "tool_choice": CHOICES[choice],
            "parallel_tool_calls": parallel,
            "response_format": DOCUMENTS[document_name],
        }
    ).request
    tools = tool_use(request)
    document = requested_document(request, max_choices=1, max_tags=100)
    spec = compose(tools, None if document is None else document.spec, thinking, reply_format)
    if spec is None:
        assert (choice, document_name) == ("none", "text")
        return
    assert not isinstance(spec, Cfg)
    root = spec.root if isinstance(spec, Structure) else Embed(spec)
    judge = TextJudge(root, controls=reply_format.tags)
    for answer in (meant(a, choice, document_name, reply_format.calls) for a in ANSWERS):
        expected = is_allowed(
            answer,
            choice,
            document_name,
            is_parallel=parallel is not False,
            tags=reply_format.calls.opener is not None,
        )
        for thoughts in thoughts_of(thinking):
            text = written(answer, thoughts, thinking, reply_format)
            assert judge_accepts(judge, text) is expected, text
            if expected:
                check_reading(text, answer, thoughts, thinking, reply_format, tools)


def thoughts_of(thinking: Thinking) -> list[str | None]:
    match thinking:
        case Thinking.NONE:
            return [None]
        case Thinking.OPEN:
            return ["hm {"]
        case Thinking.OPTIONAL:
            return [None, "hm <"]


def written(
    answer: Answer, thoughts: str | None, thinking: Thinking, reply_format: ReplyFormat
) -> str:
    calls = calls_text(reply_format.calls, answer.calls) if answer.calls else ""
    if thoughts is None:
        return answer.text + calls
    begin = reply_format.thoughts.open if thinking is Thinking.OPTIONAL else ""
    return f"{begin}\n{thoughts}\n{reply_format.thoughts.close}\n\n{answer.text}{calls}"


def judge_accepts(judge: TextJudge, text: str) -> bool:
    pieces = judge.vocabulary.split_controls(text)
    return judge.accepts([p if isinstance(p, int) else p.decode() for p in pieces])


def check_reading(text, answer, thoughts, thinking, reply_format, tools) -> None:
    """One token at a time and all at once give the same message, the one that was meant."""
    vocabulary = byte_vocabulary(reply_format.tags)
    token_ids = token_ids_of(vocabulary, text)
    for step in (1, len(token_ids) + 1):
        reply = ChoiceReply(
            vocabulary,
            reply_format=reply_format,
            tools=tools.tools,
            thinking=thinking,
            stops=(),
        )
        events: list[Any] = []
        for start in range(0, len(token_ids), step):
            events += reply.add(RequestOutput("r", tuple(token_ids[start : start + step]))).events
        last = reply.add(RequestOutput("r", (), finish_reason=FinishReason.STOP))
        message = fold([*events, *last.events])
        calls = [(call.name, json.loads(call.arguments)) for call in message.calls]
        assert calls == list(answer.calls)
        assert (message.content or "").strip() == answer.text.strip()
        assert message.reasoning == (None if thoughts is None else thoughts)
        assert last.finish == ("tool_calls" if answer.calls else "stop")
