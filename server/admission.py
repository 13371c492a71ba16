"""Admission: from the body of a chat request to what the engine needs, or a refusal.

In this order, each step with its own limit: bytes on the wire and JSON (`server.body`), typed
model, model name, parameters, template and tokens, grammar. The API key is checked before any of
it, in `server.gate`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.request import PromptScoring, Request, SamplingParams
from grammars.spec import JsonSchema
from server.answer_grammar import asked_grammar, compile_asked
from server.document import requested_document
from server.effects import binding_fields, idle_fields
from server.errors import ModelNotFoundError, OverloadedError, UnavailableError
from server.logs import new_sequence_id
from server.openai_subset import check_openai_schemas
from server.request_errors import InvalidValueError
from server.sampling import choice_seed, sampling_params
from server.tool_choice import CallMode, tool_use
from server.wire.checks import check_chat_request, check_openai_names, check_options, stop_strings
from server.wire.policy import parse_chat_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from server.chat.prompt import Prompt
    from server.chat.reply_format import ReplyFormat
    from server.chat.thinking import Thinking
    from server.config import ServerConfig
    from server.document import Document
    from server.grammar_compiler import ServedGrammar
    from server.services import Services
    from server.tool_choice import ToolUse
    from server.wire.chat_request import ChatCompletionRequest
    from server.wire.policy import ParsedChatRequest


@dataclass(frozen=True, slots=True)
class AdmittedChat:
    """A chat request that will be answered.

    Args:
        request: the typed body.
        prompt_token_ids: the whole prompt.
        sampling: of the first choice.
        grammar: of each choice's whole text; None: free text.
        tools: which calls are looked for, and in which form they are told.
        calls_anywhere: calls may stand behind text; else the answer is calls or a document.
        reply_format: how the model writes.
        thinking: where the answer stands to a reasoning block.
        stops: stop strings that end free text.
        enforced: fields that bind the answer, each exactly: nothing is ever relaxed.
        ignored: fields that were taken without effect.
        unknown: fields that nobody knows.
        cache_salt: requests with different salts share no cached prompts.
        prompt_scoring: None: prompt tokens are not scored.
    """

    request: ChatCompletionRequest
    prompt_token_ids: tuple[int, ...]
    sampling: SamplingParams
    grammar: ServedGrammar | None
    tools: ToolUse
    calls_anywhere: bool
    reply_format: ReplyFormat
    thinking: Thinking
    stops: tuple[str, ...]
    enforced: tuple[str, ...]
    ignored: tuple[str, ...]
    unknown: tuple[str, ...]
    cache_salt: bytes = b""
    prompt_scoring: PromptScoring | None = None

    @property
    def num_choices(self) -> int:
        """Answers to generate."""
        return self.request.n or 1

    @property
    def is_legacy(self) -> bool:
        """Whether calls are asked for, and told, by the older `function_call`."""
        return self.request.functions is not None

    def engine_request(self, choice: int) -> Request:
        """A new engine request for the choice with this index, with a matcher of its own."""
        sampling = replace(self.sampling, seed=choice_seed(self.sampling.seed, choice))
        return Request(
            request_id=new_sequence_id(),
            prompt_token_ids=self.prompt_token_ids,
            sampling=sampling,
            constraint=None if self.grammar is None else self.grammar.matcher(),
            cache_salt=self.cache_salt,
            on_length=self.request.on_length or "cut",
            prompt_scoring=self.prompt_scoring,
        )


async def admit_chat(
    body: Mapping[str, object], services: Services, *, cache_salt: bytes = b""
) -> AdmittedChat:
    """Admit a parsed body of chat completions.

    Raises:
        ServerError: the request is refused; see `server.errors`.
    """
    parsed = parse_chat_request(body, strict_params=services.config.strict_params)
    check_openai_names(parsed.request)
    return await admit(parsed, services, cache_salt=cache_salt)


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
    config, request = services.config, parsed.request
    check_model(request.model, services)
    if prompt is None:
        check_chat_request(request, config)
    else:
        check_options(request, config)
    tools = tool_use(request)
    document = requested_document(
        request, max_choices=config.max_choices, max_json_depth=config.max_json_depth
    )
    _check_schemas(request, tools, document, config)
    check_capacity(services, request.n or 1)

    if prompt is None:
        prompt = await asyncio.to_thread(services.prompts.build, request)
    reply_format = services.prompts.reply_format
    spec = asked_grammar(request, tools, document, prompt.thinking, reply_format)
    sampling = sampling_params(
        request,
        services.vocabulary,
        num_prompt_tokens=len(prompt.token_ids),
        max_model_len=services.model.max_model_len,
    )
    grammar = None
    if spec is not None:
        closes = request.on_length == "close"
        grammar = await compile_asked(
            spec,
            tools,
            document,
            services,
            property_order=request.property_order or config.property_order,
            caller=cache_salt,
            closes=closes,
        )
    check_capacity(services, request.n or 1)  # the queue may have filled up in the meantime
    services.metrics.generation.prompt_tokens.inc(len(prompt.token_ids))
    idle = tuple(idle_fields(request, tools, document, spec))
    return AdmittedChat(
        request=request,
        prompt_token_ids=prompt.token_ids,
        sampling=sampling,
        grammar=grammar,
        tools=tools,
        calls_anywhere=tools.mode is CallMode.AUTO and document is None,
        reply_format=reply_format,
        thinking=prompt.thinking,
        stops=() if "stop" in idle else stop_strings(request),
        enforced=binding_fields(request, tools, document),
        ignored=(*parsed.ignored, *prompt.ignored, *idle),
        unknown=parsed.unknown,
        cache_salt=cache_salt,
    )


async def count_prompt_tokens(request: ChatCompletionRequest, services: Services) -> int:
    """How long the prompt of a request is; nothing is generated.

    Raises:
        ServerError: the request is refused, as `admit` would.
    """
    check_model(request.model, services)
    check_chat_request(request, services.config)
    tool_use(request)
    prompt = await asyncio.to_thread(services.prompts.build, request)
    return len(prompt.token_ids)


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
    if services.engine.stats().num_waiting + num_choices > services.config.max_waiting_requests:
        raise OverloadedError(
            f"Already max_waiting_requests={services.config.max_waiting_requests} are waiting; "
            "try again later"
        )
