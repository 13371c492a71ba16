"""Messages of blocks to the messages of a chat."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

from server.request_errors import InvalidValueError
from server.wire.anthropic.blocks import (
    DocumentBlock,
    RedactedThinkingBlock,
    SearchResultBlock,
    TextBlock,
    TextualBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    joined_text,
)
from server.wire.messages import (
    AssistantMessage,
    CalledFunction,
    SystemMessage,
    ToolCallMessage,
    ToolMessage,
    UserMessage,
)
from server.wire.translation import PlacedMessages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.wire.anthropic.blocks import Block, BlockMessage

_ATTRIBUTION: Final = "x-anthropic-billing-header:"
"""Begins a block of one client's system prompt that says who is billed. It is no instruction, and
it changes with each request, so that no prompt would be found in the prefix cache."""


@dataclass(slots=True)
class _Turn:
    """Neighbouring messages of one role, as one list of blocks, each with its place."""

    role: str
    place: str
    blocks: list[tuple[str, Block]] = field(default_factory=list)

    def text(self) -> str:
        """What is text, each block on lines of its own."""
        return joined_text([block for _, block in self.blocks if isinstance(block, TextualBlock)])


def chat_messages(
    messages: Sequence[BlockMessage], system: str | list[TextBlock] | None
) -> PlacedMessages:
    """The conversation as a chat; results of tools become messages of their own.

    Raises:
        InvalidValueError: a block that messages of its role do not have.
    """
    placed = PlacedMessages()
    if system is not None and (text := _system_text(system)):
        placed.add(SystemMessage(role="system", content=text), "system")
    for turn in _turns(messages):
        _check_blocks(turn)
        match turn.role:
            case "user":
                _add_user(placed, turn)
            case "assistant":
                placed.add(_assistant_message(turn), turn.place)
            case _:
                placed.add(SystemMessage(role="system", content=turn.text()), turn.place)
    # Where something is missing behind the last message, the chat's own check names that place.
    placed.places.append(f"messages[{len(messages)}]")
    return placed


def is_attribution(block: TextBlock) -> bool:
    """Whether a block of the system prompt is left out, see `_ATTRIBUTION`."""
    return block.text.startswith(_ATTRIBUTION)


def _system_text(system: str | list[TextBlock]) -> str:
    if isinstance(system, str):
        return system
    return joined_text([block for block in system if not is_attribution(block)])


def _turns(messages: Sequence[BlockMessage]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        place = f"messages[{index}]"
        if not turns or turns[-1].role != message.role:
            turns.append(_Turn(message.role, place))
        content = message.content
        if isinstance(content, str):
            block = TextBlock(type="text", text=content)
            turns[-1].blocks.append((f"{place}.content", block))
        else:
            turns[-1].blocks += [
                (f"{place}.content[{i}]", block) for i, block in enumerate(content)
            ]
    return turns


def _check_blocks(turn: _Turn) -> None:
    for place, block in turn.blocks:
        roles: tuple[str, ...]
        match block:
            case TextBlock():
                roles = ("user", "assistant", "system")
            case ThinkingBlock() | RedactedThinkingBlock() | ToolUseBlock():
                roles = ("assistant",)
            case ToolResultBlock() | DocumentBlock() | SearchResultBlock():
                roles = ("user",)
            case _:
                assert_never(block)
        if turn.role not in roles:
            raise InvalidValueError(
                f"{place}.type",
                f"{block.type!r} is a block of the role '{roles[0]}', not of '{turn.role}'",
            )


def _add_user(placed: PlacedMessages, turn: _Turn) -> None:
    """Results come first, wherever they stand: they belong to the calls before them."""
    results = [(place, block) for place, block in turn.blocks if isinstance(block, ToolResultBlock)]
    for place, block in results:
        message = ToolMessage(
            role="tool", content=_result_text(block), tool_call_id=block.tool_use_id
        )
        placed.add(message, place)
    text = turn.text()
    if text or not results:
        placed.add(UserMessage(role="user", content=text), turn.place)


def _result_text(block: ToolResultBlock) -> str:
    """Chat templates know no failed results, so the text itself must tell."""
    text = joined_text(block.content)
    is_told = text.lower().startswith("error")
    return f"Error: {text}" if block.is_error and not is_told else text


def _assistant_message(turn: _Turn) -> AssistantMessage:
    blocks = [block for _, block in turn.blocks]
    thoughts = [block.thinking for block in blocks if isinstance(block, ThinkingBlock)]
    calls = [
        ToolCallMessage(
            id=block.id, function=CalledFunction(name=block.name, arguments=block.input)
        )
        for block in blocks
        if isinstance(block, ToolUseBlock)
    ]
    return AssistantMessage(
        role="assistant",
        content=turn.text(),
        reasoning_content="\n".join(thoughts) or None,
        tool_calls=calls or None,
    )
