"""Translation: the body of another API as the chat request that asks for the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from server.request_errors import renamed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.errors import RequestError
    from server.wire.chat_request import ChatCompletionRequest
    from server.wire.messages import Message


@dataclass(frozen=True, slots=True)
class Translation:
    """A chat request, and how its refusals are renamed.

    Args:
        request: what the engine is asked.
        names: beginnings of paths in it -> what stands there in the caller's body.
        ignored: fields of the caller's body that are taken without effect.
        unknown: fields of it that nobody knows.
        thinks: whether the caller has turned thinking on or off; None: as the model is used to.
        thinking_name: the caller's field that says so.
        effort_name: the caller's field that says how much.
    """

    request: ChatCompletionRequest
    names: Mapping[str, str]
    ignored: tuple[str, ...]
    unknown: tuple[str, ...]
    thinks: bool | None
    thinking_name: str
    effort_name: str

    def refusal(self, error: RequestError) -> RequestError:
        """The same refusal in the caller's names."""
        return renamed(error, self.names)


@dataclass(slots=True)
class PlacedMessages:
    """Messages of a chat, each with its place in the caller's body."""

    messages: list[Message] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    def add(self, message: Message, place: str) -> None:
        """Append a message."""
        self.messages.append(message)
        self.places.append(place)

    def names(self) -> dict[str, str]:
        """The place of each message in the chat -> its place in the caller's body."""
        return {f"messages[{index}]": place for index, place in enumerate(self.places)}


def thinking_fields(*, thinks: bool | None, effort: str | None) -> dict[str, object]:
    """The fields of a chat request that turn thinking on or off, in the words of all templates."""
    if thinks is False:
        return {"reasoning_effort": "none"}
    switches = {"enable_thinking": True, "thinking": True} if thinks else None
    return {"reasoning_effort": effort, "chat_template_kwargs": switches}
