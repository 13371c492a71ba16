"""Admission: from the body of a chat request to what the engine needs, or a refusal.

In this order, each step with its own limit: bytes on the wire and JSON (`server.body`), typed
model, model name, parameters, template and tokens, grammar. The API key is checked before any of
it, in `server.gate`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammars.spec import JsonSchema, Structure, with_property_order
from server.admitted_chat import AdmittedChat
from server.answer_grammar import asked_grammar, compile_asked
from server.document import requested_document
from server.effects import binding_fields, idle_fields
from server.errors import ModelNotFoundError, OverloadedError, UnavailableError
from server.openai_subset import check_openai_schemas
from server.request_errors import InvalidValueError
from server.sampling import sampling_params
from server.tag_limits import num_schema_chars
from server.tool_choice import CallMode, tool_use
from server.wire.checks import check_chat_request, check_options, stop_strings

if TYPE_CHECKING:
    from engine.request import SamplingParams
    from grammars.spec import GrammarSpec, PropertyOrder
    from server.chat.prompt import Prompt
    from server.config import ServerConfig
    from server.document import Document
    from server.services import Services
    from server.tool_choice import ToolUse
    from server.wire.chat_request import ChatCompletionRequest
    from server.wire.policy import ParsedChatRequest


async def admit(
    parsed: ParsedChatRequest,
    services: Services,
    *,
    cache_salt: bytes = b"",
    prompt: Prompt | None = None,
) -> AdmittedChat:
    """Admit a typed request; other endpoints make one of their own bodies.

    Args:
        parsed: the request, and what of it has no effect.
        services: what the routes work with.
        cache_salt: see `AdmittedChat`.
        prompt: where it is given, and not made of messages.

    Raises:
        ServerError: the request is refused; `param` is a path in the chat request.
    """
    request = parsed.request
    asked = await asyncio.to_thread(_understand, request, services, prompt)
    prompt, tools, document = asked.prompt, asked.tools, asked.document
    grammar = None
    if asked.spec is not None:
        grammar = await compile_asked(
            asked.spec,
            tools,
            document,
            services,
            property_order=_property_order(request, services),
            caller=cache_salt,
            closes=request.on_length == "close",
        )
    check_capacity(services, request.n or 1)  # the queue may have filled up in the meantime
    services.metrics.generation.prompt_tokens.inc(len(prompt.token_ids))
    return AdmittedChat(
        request=request,
        prompt_token_ids=prompt.token_ids,
        sampling=asked.sampling,
        grammar=grammar,
        tools=tools,
        calls_anywhere=tools.mode is CallMode.AUTO and document is None,
        reply_format=services.prompts.reply_format,
        thinking=prompt.thinking,
        stops=() if "stop" in asked.idle else stop_strings(request),
        enforced=binding_fields(request, tools, document, prompt.thinking),
        ignored=(*parsed.ignored, *prompt.ignored, *asked.idle),
        unknown=parsed.unknown,
        cache_salt=cache_salt,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request asks for, before anything is compiled.

    Args:
        prompt: of the model.
        tools: which may be called.
        document: that the text of the answer shall be.
        spec: the grammar of the whole answer; None: free text.
        sampling: of the first choice.
        idle: fields that other ones have left without effect.
    """

    prompt: Prompt
    tools: ToolUse
    document: Document | None
    spec: GrammarSpec | None
    sampling: SamplingParams
    idle: tuple[str, ...]


def _understand(
    request: ChatCompletionRequest, services: Services, prompt: Prompt | None
) -> _Asked:
    """Check a request and make its prompt, unless it is given; slow for large ones.

    Raises:
        ServerError: the request is refused.
    """
    config = services.config
    check_model(request.model, services)
    if prompt is None:
        check_chat_request(request, config)
    else:
        check_options(request, config)
    tools = tool_use(request)
    document = requested_document(
        request,
        max_choices=config.max_choices,
        max_tags=config.max_tags,
        max_json_depth=config.max_json_depth,
    )
    _check_schemas(request, tools, document, config)
    check_capacity(services, request.n or 1)
    if prompt is None:
        prompt = services.prompts.build(request)
    spec = asked_grammar(request, tools, document, prompt.thinking, services.prompts.reply_format)
    sampling = sampling_params(
        request,
        services.vocabulary,
        num_prompt_tokens=len(prompt.token_ids),
        max_model_len=services.model.max_model_len,
    )
    idle = tuple(idle_fields(request, tools, document, prompt.thinking, spec))
    if spec is not None:
        spec = with_property_order(spec, _property_order(request, services))
    return _Asked(prompt, tools, document, spec, sampling, idle)


def _property_order(request: ChatCompletionRequest, services: Services) -> PropertyOrder:
    return request.property_order or services.config.property_order


async def count_prompt_tokens(request: ChatCompletionRequest, services: Services) -> int:
    """How long the prompt of a request is; nothing is generated.

    Raises:
        ServerError: the request is refused, as `admit` would.
    """
    return await asyncio.to_thread(_num_prompt_tokens, request, services)


def _num_prompt_tokens(request: ChatCompletionRequest, services: Services) -> int:
    check_model(request.model, services)
    check_chat_request(request, services.config)
    tool_use(request)
    return len(services.prompts.build(request).token_ids)


def check_model(name: str, services: Services) -> None:
    """Check the name that a request gives the model.

    Raises:
        ModelNotFoundError: no model of this name is served.
    """
    if not services.model.is_called(name) and not services.config.accept_any_model:
        raise ModelNotFoundError(name, services.model.names)


def _check_schemas(
    request: ChatCompletionRequest, tools: ToolUse, document: Document | None, config: ServerConfig
) -> None:
    """Their sizes, and where it is asked for, whether OpenAI's own API would take them."""
    limit = config.max_schema_chars
    if document is not None and isinstance(document.spec, JsonSchema):
        _check_size(document.param, len(document.spec.text), limit)
    if document is not None and isinstance(document.spec, Structure):
        _check_size(document.param, num_schema_chars(document.spec), limit)
    total = sum(len(JsonSchema.from_value(tool.schema).text) for tool in tools.tools)
    _check_size("tools", total, limit)
    if config.schema_policy == "openai":
        check_openai_schemas(request, tools)


def _check_size(param: str, num_chars: int, limit: int) -> None:
    if num_chars > limit:
        raise InvalidValueError(
            param, f"at most max_schema_chars={limit} characters are allowed, got {num_chars}"
        )


def check_capacity(services: Services, num_choices: int) -> None:
    """Check that the engine runs, and that so many more sequences may wait.

    Raises:
        UnavailableError: it has stopped.
        OverloadedError: too many wait.
    """
    if not services.engine.is_alive:
        raise UnavailableError("The engine has stopped; the server must be started again")
    stats = services.engine.stats()
    limit = services.config.max_waiting_requests + stats.num_places
    if stats.num_waiting + num_choices > limit:
        raise OverloadedError(
            f"Already max_waiting_requests={services.config.max_waiting_requests} are waiting; "
            "try again later"
        )
