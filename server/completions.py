"""Admission of completions: each prompt as an admitted chat whose prompt was given."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from engine.request import PromptScoring
from server.admission import admit
from server.errors import RequestError
from server.request_errors import renamed
from server.sampling import check_token_id
from server.wire.chat_request import ignored_options
from server.wire.policy import ParsedChatRequest

if TYPE_CHECKING:
    from server.admitted_chat import AdmittedChat
    from server.chat.prompt import Prompt
    from server.reply.spelling import Spellings
    from server.services import Services
    from server.wire.completions import CompletionRequest

NAMES: Final = {
    "messages": "prompt",
    "prompt_token_ids": "prompt",
    "top_logprobs": "logprobs",
}
"""Paths of the chat request -> what stands there in the body of completions."""


@dataclass(frozen=True, slots=True)
class AdmittedCompletion:
    """One prompt that will be gone on with.

    Args:
        chat: what is generated.
        echo: the text that stands in front of each answer; "" without `echo`.
        echoed_token_ids: of that text, where their log probabilities are asked for too.
    """

    chat: AdmittedChat
    echo: str = ""
    echoed_token_ids: tuple[int, ...] = ()


async def admit_completions(
    request: CompletionRequest,
    unknown: tuple[str, ...],
    services: Services,
    spellings: Spellings,
    *,
    cache_salt: bytes = b"",
) -> list[AdmittedCompletion]:
    """Admit all prompts of a request, or none.

    Raises:
        ServerError: the request is refused.
    """
    ignored = [] if request.user is None else ["user"]
    ignored += ignored_options(request.stream_options)
    parsed = ParsedChatRequest(request.as_chat(), tuple(ignored), unknown)
    add_special_tokens = request.add_special_tokens is not False
    admitted = []
    for given in request.prompts:
        try:
            prompt = await asyncio.to_thread(
                _prompt, given, services, add_special_tokens=add_special_tokens
            )
            chat = await admit(parsed, services, cache_salt=cache_salt, prompt=prompt)
        except RequestError as error:
            raise renamed(error, NAMES) from error
        admitted.append(_completion(request, given, chat, spellings))
    return admitted


def _prompt(given: str | list[int], services: Services, *, add_special_tokens: bool) -> Prompt:
    for token_id in () if isinstance(given, str) else given:
        check_token_id("prompt", token_id, services.vocabulary)
    return services.prompts.build_text(given, add_special_tokens=add_special_tokens)


def _completion(
    request: CompletionRequest,
    given: str | list[int],
    chat: AdmittedChat,
    spellings: Spellings,
) -> AdmittedCompletion:
    if not request.echo:
        return AdmittedCompletion(chat)
    echo = given if isinstance(given, str) else spellings.text_of(given)
    if request.max_tokens == 0:
        chat = replace(chat, sampling=replace(chat.sampling, max_tokens=0, min_tokens=0))
    elif request.logprobs is None:
        return AdmittedCompletion(chat, echo)
    scoring = PromptScoring(num_top=request.logprobs or 0)
    chat = replace(chat, prompt_scoring=scoring)
    token_ids = () if request.logprobs is None else chat.prompt_token_ids
    return AdmittedCompletion(chat, echo, token_ids)
