"""decide: the questions of a request, posed to the model one after the other."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import EngineError, InvalidRequestError, RequestFailedError
from server.admission import check_capacity, check_model
from server.chat.thinking import Thinking
from server.decisions.posed import pose
from server.decisions.probabilities import answer_probabilities
from server.errors import GenerationTimeoutError, InternalError, RequestError, UnavailableError
from server.request_errors import InvalidValueError, UnsupportedValueError, renamed
from server.wire.chat_request import ChatCompletionRequest
from server.wire.checks import check_chat_request
from server.wire.messages import UserMessage
from server.wire.responses.conversation import ConversationWriter
from server.wire.responses.items import MessageItem

if TYPE_CHECKING:
    from server.chat.prompt import Prompt
    from server.decisions.posed import PosedQuestion
    from server.decisions.probabilities import AnswerProbabilities
    from server.services import Services
    from server.wire.decisions import DecisionsRequest
    from server.wire.translation import PlacedMessages


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of one question.

    Args:
        probabilities: of the answers, in their order.
        num_prompt_tokens: of input and question.
        num_cached_tokens: those of them that had been computed before.
    """

    probabilities: tuple[float, ...]
    num_prompt_tokens: int
    num_cached_tokens: int


async def decide(
    request: DecisionsRequest, services: Services, *, cache_salt: bytes = b""
) -> list[Decision]:
    """Answer all questions, in order.

    The input stands in front of every question, so its keys and values are computed once.

    Raises:
        ServerError: the request is refused, or a question failed.
    """
    check_model(request.model, services)
    check_capacity(services, 1)
    evidence = await asyncio.to_thread(_conversation, request)
    posed = [pose(question) for question in request.questions]
    prompts = [
        await asyncio.to_thread(_prompt, request, evidence, question, index, services)
        for index, question in enumerate(posed)
    ]
    services.metrics.generation.prompt_tokens.inc(sum(len(prompt.token_ids) for prompt in prompts))
    limit_s = services.config.generation_timeout_s
    try:
        async with asyncio.timeout(limit_s):
            return [
                _decision(
                    prompt,
                    await answer_probabilities(
                        services.engine,
                        services.vocabulary,
                        prompt.token_ids,
                        question.answers,
                        cache_salt=cache_salt,
                    ),
                )
                for prompt, question in zip(prompts, posed, strict=True)
            ]
    except TimeoutError as error:
        raise GenerationTimeoutError(
            f"The questions took longer than generation_timeout_s={limit_s:g} s; ask fewer at once"
        ) from error
    except InvalidRequestError as error:
        raise InvalidValueError("questions", error.reason) from error
    except RequestFailedError as error:
        raise InternalError(f"A question could not be answered: {error}") from error
    except EngineError as error:
        raise UnavailableError("The engine has stopped; try again later") from error


def _decision(prompt: Prompt, answers: AnswerProbabilities) -> Decision:
    return Decision(answers.probabilities, len(prompt.token_ids), answers.num_cached_tokens)


def _conversation(request: DecisionsRequest) -> PlacedMessages:
    writer = ConversationWriter()
    if isinstance(request.input, str):
        said = MessageItem(type="message", role="user", content=request.input)
        writer.add_items([("input", said)])
    else:
        writer.add_items((f"input[{index}]", item) for index, item in enumerate(request.input))
    return writer.finish()


def _prompt(
    request: DecisionsRequest,
    evidence: PlacedMessages,
    question: PosedQuestion,
    index: int,
    services: Services,
) -> Prompt:
    """The prompt of one question, up to where the answer begins.

    Raises:
        RequestError: the input is not in order, or too long.
        UnsupportedValueError: the model would think before it answers.
    """
    chat = ChatCompletionRequest(
        model=request.model,
        messages=[*evidence.messages, UserMessage(role="user", content=question.text)],
        reasoning_effort="none",
    )
    names = {"messages": "input", f"messages[{len(evidence.places)}].role": "input"}
    try:
        check_chat_request(chat, services.config)
        prompt = services.prompts.build(chat)
    except RequestError as error:
        names |= evidence.names() | {f"messages[{len(evidence.places)}]": f"questions[{index}]"}
        raise renamed(error, names) from error
    if prompt.thinking is Thinking.OPEN:
        raise UnsupportedValueError(
            "model", "this model always thinks before it answers, so answers cannot be compared"
        )
    return prompt
