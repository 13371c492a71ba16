"""The bodies of POST /api/chat, /api/generate and /api/show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, TypeVar
from typing import Literal as OneOf

from pydantic import Field

from server.wire.base import Items, WireModel
from server.wire.ollama.options import Options
from server.wire.parsing import parse_request
from server.wire.tools import FunctionDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

_REFUSED: Final = {
    "context": "use /api/chat, and send the messages so far",
    "images": "the served models read text alone",
    "suffix": "the served models write what follows, not what is between",
    "template": "use raw: true, and send the whole prompt",
    "width": "the served models write text",
    "height": "the served models write text",
    "steps": "the served models write text",
}
"""Fields whose silent loss would change the answer, each with the way out."""


class AskedFields(WireModel):
    """What both requests have; null means absent, and streams are the default."""

    model: str
    stream: bool | None = None
    format: OneOf["json", ""] | dict[str, object] | None = None
    options: Options | None = None
    think: bool | OneOf["low", "medium", "high", "max"] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    keep_alive: object = None
    truncate: object = None
    shift: object = None

    @property
    def is_streamed(self) -> bool:
        """Whether the answer is sent while it is made."""
        return self.stream is not False


class GivenFunction(WireModel):
    """The function of an earlier call."""

    name: str
    arguments: object = None
    index: int | None = None


class GivenCall(WireModel):
    """A call that the assistant made earlier; older servers gave it no id."""

    function: GivenFunction
    id: str | None = None
    type: OneOf["function"] | None = None


class GivenMessage(WireModel):
    """A message; a result of a tool says by id or by name whose it is, or by its place."""

    role: OneOf["system", "user", "assistant", "tool"]
    content: str | None = None
    thinking: str | None = None
    images: list[object] | None = None
    tool_calls: Items[GivenCall] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


class GivenTool(WireModel):
    """A tool that may be called; its arguments are bound to its schema."""

    type: OneOf["function"] | None = None
    function: FunctionDefinition


class ChatRequest(AskedFields):
    """A request for the next message; without messages it only asks for the model to be loaded."""

    messages: Items[GivenMessage] | None = None
    tools: Items[GivenTool] | None = None

    @property
    def has_prompt(self) -> bool:
        """Whether there is anything to answer."""
        return bool(self.messages)


class GenerateRequest(AskedFields):
    """A request for what follows a prompt; `raw` ones are not put into the chat template."""

    prompt: str | None = None
    system: str | None = None
    raw: bool | None = None

    @property
    def has_prompt(self) -> bool:
        """Whether there is anything to answer."""
        return bool(self.prompt)


class ShowRequest(WireModel):
    """Which model is asked about; `name` is the older word."""

    model: str | None = None
    name: str | None = None
    verbose: object = None


RequestT = TypeVar("RequestT", bound=WireModel)


def parse_ollama_request(
    kind: type[RequestT], body: Mapping[str, object], *, strict_params: bool
) -> tuple[RequestT, tuple[str, ...]]:
    """Type a body; the second value are the paths of fields that nobody knows.

    Raises:
        RequestError: see `parse_request`.
    """
    return parse_request(kind, body, _REFUSED, strict_params=strict_params)


def model_name(name: str) -> str:
    """The name without Ollama's default tag."""
    return name.removesuffix(":latest")
