"""Output items: each is streamed by its own events, from `added` to `done`."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final, Protocol

from server.answer.ids import new_call_id
from server.calls.tool import ToolKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from server.answer.bodies import Json

IN_PROGRESS: Final = "in_progress"


class OutputItem(Protocol):
    """One item, as it grows."""

    body: Json
    """As it is now."""

    def open(self) -> Iterator[Json]:
        """The events with which it begins."""
        ...

    def add(self, text: str, logprobs: list[Json]) -> Json:
        """The event that adds to its text."""
        ...

    def close(self, status: str) -> Iterator[Json]:
        """The events with which it ends: completed or incomplete."""
        ...


class MessageItem:
    """A message with one part of text."""

    def __init__(self, output_index: int) -> None:
        self._text: list[str] = []
        self._logprobs: list[Json] = []
        self.body: Json = {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "status": IN_PROGRESS,
            "content": [],
        }
        self._where = {"item_id": self.body["id"], "output_index": output_index}
        self._part = self._where | {"content_index": 0}

    def open(self) -> Iterator[Json]:
        yield _added(self._where, self.body)
        yield {"type": "response.content_part.added", **self._part, "part": self._content()}

    def add(self, text: str, logprobs: list[Json]) -> Json:
        self._text.append(text)
        self._logprobs += logprobs
        kind = "response.output_text.delta"
        return {"type": kind, **self._part, "delta": text, "logprobs": logprobs}

    def close(self, status: str) -> Iterator[Json]:
        content = self._content()
        yield {
            "type": "response.output_text.done",
            **self._part,
            "text": content["text"],
            "logprobs": self._logprobs,
        }
        yield {"type": "response.content_part.done", **self._part, "part": content}
        self.body |= {"status": status, "content": [content]}
        yield _done(self._where, self.body)

    def _content(self) -> Json:
        text = "".join(self._text)
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": self._logprobs}


class ReasoningItem:
    """Thoughts, never summed up."""

    def __init__(self, output_index: int) -> None:
        self._text: list[str] = []
        self.body: Json = {
            "id": f"rs_{uuid.uuid4().hex}",
            "type": "reasoning",
            "status": IN_PROGRESS,
            "summary": [],
            "content": [],
        }
        self._where = {"item_id": self.body["id"], "output_index": output_index}
        self._part = self._where | {"content_index": 0}

    def open(self) -> Iterator[Json]:
        yield _added(self._where, self.body)
        yield {"type": "response.content_part.added", **self._part, "part": self._content()}

    def add(self, text: str, _logprobs: list[Json]) -> Json:
        self._text.append(text)
        return {"type": "response.reasoning_text.delta", **self._part, "delta": text}

    def close(self, status: str) -> Iterator[Json]:
        content = self._content()
        yield {"type": "response.reasoning_text.done", **self._part, "text": content["text"]}
        yield {"type": "response.content_part.done", **self._part, "part": content}
        self.body |= {"status": status, "content": [content]}
        yield _done(self._where, self.body)

    def _content(self) -> Json:
        return {"type": "reasoning_text", "text": "".join(self._text)}


class CallItem:
    """A call of a function or of a custom tool."""

    def __init__(self, output_index: int, name: str, kind: ToolKind) -> None:
        self._text: list[str] = []
        is_function = kind is ToolKind.FUNCTION
        self._field = "arguments" if is_function else "input"
        self._events = (
            "response.function_call_arguments" if is_function else "response.custom_tool_call_input"
        )
        self.body: Json = {
            "id": f"{'fc' if is_function else 'ctc'}_{uuid.uuid4().hex}",
            "type": "function_call" if is_function else "custom_tool_call",
            "status": IN_PROGRESS,
            "call_id": new_call_id(),
            "name": name,
            self._field: "",
        }
        self._where = {"item_id": self.body["id"], "output_index": output_index}

    def open(self) -> Iterator[Json]:
        yield _added(self._where, self.body)

    def add(self, text: str, _logprobs: list[Json]) -> Json:
        self._text.append(text)
        return {"type": f"{self._events}.delta", **self._where, "delta": text}

    def close(self, status: str) -> Iterator[Json]:
        text = "".join(self._text)
        yield {"type": f"{self._events}.done", **self._where, self._field: text}
        self.body |= {"status": status, self._field: text}
        yield _done(self._where, self.body)


def _added(where: Json, body: Json) -> Json:
    kind = "response.output_item.added"
    return {"type": kind, "output_index": where["output_index"], "item": dict(body)}


def _done(where: Json, body: Json) -> Json:
    kind = "response.output_item.done"
    return {"type": kind, "output_index": where["output_index"], "item": dict(body)}
