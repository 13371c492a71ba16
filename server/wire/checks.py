"""Rules of a chat request that concern several fields, or limits of the configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from server.request_errors import InvalidValueError
from server.wire.formats import JsonSchemaFormat, TextFormat
from server.wire.tools import (
    AllowedToolsChoice,
    FunctionTool,
    NamedCustomChoice,
    NamedToolChoice,
    ToolName,
    name_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from server.config import ServerConfig
    from server.wire.chat_request import ChatCompletionRequest
    from server.wire.tools import CustomTool

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""As long as Anthropic's API takes them: names of MCP tools have their server's in front."""
_CONSTRAINTS = (
    "structured_outputs",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "grammar",
    "json_schema",
)
"""Fields beside `response_format` that bind the text; one of all may be set."""


def check_chat_request(request: ChatCompletionRequest, config: ServerConfig) -> None:
    """Check what the types cannot say.

    Raises:
        InvalidValueError: naming the field and the limit.
    """
    _check_count("messages", len(request.messages), config, "max_messages", minimum=1)
    check_options(request, config)


def check_options(request: ChatCompletionRequest, config: ServerConfig) -> None:
    """The same for a request whose prompt is given, and not made of messages."""
    _check_count("n", request.n or 1, config, "max_n")
    if request.stream_options is not None and not request.stream:
        raise InvalidValueError("stream_options", "only allowed with stream: true")
    if request.top_logprobs and not request.logprobs:
        raise InvalidValueError("top_logprobs", "only allowed with logprobs: true")
    _check_stops(request, config)
    _check_count("logit_bias", len(request.logit_bias or {}), config, "max_logit_bias")
    _check_short_texts(request, config)
    _check_tools(request, config)
    _check_formats(request)


def stop_strings(request: ChatCompletionRequest) -> tuple[str, ...]:
    """The stop strings as a tuple, whatever form they came in."""
    if request.stop is None:
        return ()
    return (request.stop,) if isinstance(request.stop, str) else tuple(request.stop)


def _check_count(
    param: str, count: int, config: ServerConfig, setting: str, *, minimum: int = 0
) -> None:
    limit: int = getattr(config, setting)
    if count < minimum:
        raise InvalidValueError(param, f"at least {minimum} is needed, got {count}")
    if count > limit:
        raise InvalidValueError(param, f"at most {setting}={limit} are allowed, got {count}")


def _check_length(param: str, text: str, config: ServerConfig, setting: str) -> None:
    limit: int = getattr(config, setting)
    if len(text) > limit:
        raise InvalidValueError(param, f"at most {setting}={limit} characters, got {len(text)}")


def _check_stops(request: ChatCompletionRequest, config: ServerConfig) -> None:
    stops = stop_strings(request)
    _check_count("stop", len(stops), config, "max_stop_strings")
    for stop in stops:
        if not stop:
            raise InvalidValueError("stop", "an empty stop string would end every answer at once")
        _check_length("stop", stop, config, "max_stop_string_chars")
    num_ids = len(request.stop_token_ids or [])
    _check_count("stop_token_ids", num_ids, config, "max_stop_token_ids")


def _check_short_texts(request: ChatCompletionRequest, config: ServerConfig) -> None:
    for name in (
        "user",
        "safety_identifier",
        "service_tier",
        "prompt_cache_key",
        "prompt_cache_retention",
    ):
        text = getattr(request, name)
        if text is not None:
            _check_length(name, text, config, "max_short_text_chars")


def _check_tools(request: ChatCompletionRequest, config: ServerConfig) -> None:
    if request.functions is not None or request.function_call is not None:
        _check_functions(request, config)
        return
    tools = request.tools or []
    _check_count("tools", len(tools), config, "max_tools")
    _check_names(_named_tools(request))
    if not tools and request.tool_choice not in (None, "none", "auto"):
        raise InvalidValueError("tool_choice", "no tools are given; add tools or remove it")
    if isinstance(request.tool_choice, AllowedToolsChoice):
        num_allowed = len(request.tool_choice.allowed_tools.tools)
        _check_count("tool_choice.allowed_tools.tools", num_allowed, config, "max_tools")
    kinds = {_declared_name(tool): tool.type for tool in tools}
    for param, choice in _choices(request):
        name = name_of(choice)
        if kinds.get(name) != choice.type:
            raise InvalidValueError(
                f"{param}.{choice.type}.name", f"no tool is named {name[:64]!r}"
            )


def _declared_name(tool: FunctionTool | CustomTool) -> str:
    return tool.function.name if isinstance(tool, FunctionTool) else tool.custom.name


def _check_functions(request: ChatCompletionRequest, config: ServerConfig) -> None:
    """The older fields: not beside the newer ones, and otherwise under the same rules."""
    for param in ("tools", "tool_choice"):
        if getattr(request, param):
            raise InvalidValueError(param, "cannot be combined with functions or function_call")
    functions = request.functions or []
    _check_count("functions", len(functions), config, "max_tools")
    names = _named_tools(request)
    _check_names(names)
    choice = request.function_call
    if isinstance(choice, ToolName) and choice.name not in {name for _, name in names}:
        raise InvalidValueError("function_call.name", f"no function is named {choice.name[:64]!r}")


def check_openai_names(request: ChatCompletionRequest) -> None:
    """OpenAI's own API takes shorter names of tools than others do.

    Raises:
        InvalidValueError: a name is not in its form.
    """
    for param, name in _named_tools(request):
        if not _NAME.fullmatch(name):
            raise InvalidValueError(param, "1 to 64 of the characters A-Z a-z 0-9 _ - . are needed")


def _named_tools(request: ChatCompletionRequest) -> list[tuple[str, str]]:
    """The path and the name of each declared tool."""
    tools = [
        (f"tools[{index}].{tool.type}.name", _declared_name(tool))
        for index, tool in enumerate(request.tools or [])
    ]
    functions = request.functions or []
    return tools + [(f"functions[{index}].name", f.name) for index, f in enumerate(functions)]


def _check_names(names: Sequence[tuple[str, str]]) -> None:
    seen: set[str] = set()
    for param, name in names:
        if not _TOOL_NAME.fullmatch(name):
            raise InvalidValueError(
                param, "1 to 128 of the characters A-Z a-z 0-9 _ - . are needed"
            )
        if name in seen:
            raise InvalidValueError(param, f"two tools are named {name!r}; names must differ")
        seen.add(name)


def _choices(
    request: ChatCompletionRequest,
) -> Iterator[tuple[str, NamedToolChoice | NamedCustomChoice]]:
    """The tools that `tool_choice` names, each with its path."""
    choice = request.tool_choice
    if isinstance(choice, NamedToolChoice | NamedCustomChoice):
        yield "tool_choice", choice
    elif isinstance(choice, AllowedToolsChoice):
        allowed = choice.allowed_tools.tools
        if not allowed:
            raise InvalidValueError("tool_choice.allowed_tools.tools", "at least 1 is needed")
        for index, tool in enumerate(allowed):
            yield f"tool_choice.allowed_tools.tools[{index}]", tool


def _check_formats(request: ChatCompletionRequest) -> None:
    if isinstance(request.response_format, JsonSchemaFormat):
        name = request.response_format.json_schema.name
        if not _NAME.fullmatch(name):
            raise InvalidValueError(
                "response_format.json_schema.name",
                "1 to 64 of the characters A-Z a-z 0-9 _ - . are needed",
            )
    given = [name for name in _CONSTRAINTS if getattr(request, name) is not None]
    if request.response_format is not None and not isinstance(request.response_format, TextFormat):
        given.insert(0, "response_format")
    if len(given) > 1:
        raise InvalidValueError(given[1], f"cannot be combined with {given[0]}")
