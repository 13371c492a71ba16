"""Generation: the choices of an admitted chat, run on the engine and merged as they come."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import EngineError, InvalidRequestError
from server.errors import GenerationTimeoutError, OverloadedError, ServerError, UnavailableError
from server.merging import merged
from server.output_clock import OutputClock
from server.reply.choice import ChoiceReply
from server.request_errors import InvalidValueError
from server.sampling import limit_name
from server.tracing import ChatOutcome, TracedRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from engine.output import RequestOutput
    from server.admitted_chat import AdmittedChat
    from server.reply.choice import ReplyStep
    from server.services import Services


@dataclass(slots=True)
class Usage:
    """Tokens of a request, over all its choices.

    Args:
        num_prompt_tokens: of the prompt, once.
        num_cached_tokens: prompt tokens served from the prefix cache.
        num_completion_tokens: generated, end tokens not counted.
        num_reasoning_tokens: those of them that are thoughts.
    """

    num_prompt_tokens: int
    num_cached_tokens: int = 0
    num_completion_tokens: int = 0
    num_reasoning_tokens: int = 0


class Generation:
    """Runs one admitted chat.

    Attributes:
        usage: grows while `steps` is read.

    Raises:
        InvalidValueError: the engine could never run it.
    """

    def __init__(self, chat: AdmittedChat, services: Services) -> None:
        self._chat = chat
        self._services = services
        automaton = None if chat.grammar is None else services.compiler.automaton(chat.grammar)
        self._requests = [
            replace(chat.engine_request(choice), automaton=automaton)
            for choice in range(chat.num_choices)
        ]
        try:
            services.engine.check_request(self._requests[0])
        except InvalidRequestError as error:
            is_limit = error.parameter == "max_tokens"
            param = limit_name(chat.request) if is_limit else error.parameter
            raise InvalidValueError(param, error.reason) from error
        self.usage = Usage(len(chat.prompt_token_ids))
        now = asyncio.get_running_loop().time()
        self._deadline = now + services.config.generation_timeout_s
        self._queue_deadline = now + services.config.queue_timeout_s
        self._finish_reasons: list[str] = []
        self._missing_tokens: list[int] = []

    async def steps(self) -> AsyncGenerator[tuple[int, ReplyStep], None]:
        """Pairs of choice index and what it gains, until every choice has finished.

        Closing it, or cancelling the task that waits for it, aborts all choices.

        Raises:
            ServerError: a choice failed, or the time is over; the others are aborted.
        """
        began = time.perf_counter()
        span = self._services.tracing.start_chat(_traced(self._chat, self._services))
        failure: BaseException | None = None
        steps = merged([self._choice_steps(choice) for choice in range(self._chat.num_choices)])
        try:
            async with aclosing(steps):
                async for pair in steps:
                    yield pair
        except BaseException as error:
            failure = error
            if isinstance(error, ServerError):
                self._services.metrics.count_failure(error)
            raise
        finally:
            usage, metrics = self.usage, self._services.metrics.generation
            metrics.request_seconds.observe(time.perf_counter() - began)
            metrics.request_prompt_tokens.observe(usage.num_prompt_tokens)
            metrics.request_generation_tokens.observe(usage.num_completion_tokens)
            outcome = ChatOutcome(
                num_prompt_tokens=usage.num_prompt_tokens,
                num_cached_tokens=usage.num_cached_tokens,
                num_completion_tokens=usage.num_completion_tokens,
                finish_reasons=tuple(self._finish_reasons),
                missing_tokens=tuple(self._missing_tokens),
                error=failure,
            )
            span.end(outcome)

    async def _choice_steps(self, choice: int) -> AsyncGenerator[ReplyStep, None]:
        chat = self._chat
        reply = ChoiceReply(
            self._services.vocabulary,
            reply_format=chat.reply_format,
            tools=chat.tools.tools,
            calls_anywhere=chat.calls_anywhere,
            is_all_calls=not chat.tools.allows_text,
            thinking=chat.thinking,
            stops=chat.stops,
        )
        async with aclosing(self._outputs(choice)) as outputs:
            async for output in outputs:
                self.usage.num_cached_tokens = max(
                    self.usage.num_cached_tokens, output.num_cached_tokens
                )
                step = reply.add(output)
                self._count(step)
                yield step
                if step.finish is not None:
                    self._finish_reasons.append(step.finish)
                    if step.num_missing_tokens is not None:
                        self._missing_tokens.append(step.num_missing_tokens)
                    return
        raise UnavailableError("The engine ended the answer without a reason; try again")

    async def _outputs(self, choice: int) -> AsyncGenerator[RequestOutput, None]:
        """The engine's outputs for one choice, its errors and the deadline turned into ours."""
        clock = OutputClock(self._services.metrics.generation, self.usage.num_prompt_tokens)
        try:
            async with aclosing(self._services.engine.generate(self._requests[choice])) as outputs:
                while True:
                    deadline = self._deadline if clock.has_begun else self._first_deadline
                    output = await _next_output(outputs, deadline)
                    if output is None:
                        return
                    clock.observe(output)
                    yield output
        except EngineError as error:
            raise UnavailableError("The engine has stopped; try again later") from error
        except TimeoutError as error:
            if not clock.has_begun and self._queue_deadline < self._deadline:
                limit = self._services.config.queue_timeout_s
                raise OverloadedError(
                    f"The answer did not begin within queue_timeout_s={limit:g} s; try again later"
                ) from error
            limit = self._services.config.generation_timeout_s
            raise GenerationTimeoutError(
                f"The answer took longer than generation_timeout_s={limit:g} s and was stopped; "
                "ask for fewer tokens"
            ) from error

    def _count(self, step: ReplyStep) -> None:
        self.usage.num_completion_tokens += step.num_tokens
        self.usage.num_reasoning_tokens += step.num_reasoning_tokens
        self._services.metrics.generation.generation_tokens.inc(step.num_tokens)

    @property
    def _first_deadline(self) -> float:
        return min(self._deadline, self._queue_deadline)


async def _next_output(
    outputs: AsyncGenerator[RequestOutput, None], deadline: float
) -> RequestOutput | None:
    """The next one, or None at the end.

    Raises:
        TimeoutError: the deadline is over, also if it is there already: no time runs out then, and
            a client that reads drop by drop would be answered for ever.
    """
    async with asyncio.timeout_at(deadline):
        output = await anext(outputs, None)
    if asyncio.get_running_loop().time() > deadline:
        raise TimeoutError
    return output


def _traced(chat: AdmittedChat, services: Services) -> TracedRequest:
    sampling = chat.sampling
    return TracedRequest(
        model=services.model.names[0],
        num_choices=chat.num_choices,
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        seed=chat.request.seed,
    )
