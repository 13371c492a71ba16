"""AdmittedChat: a chat request that will be answered, and what the engine is asked for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.request import PromptScoring, Request, SamplingParams
from server.logs import new_sequence_id
from server.sampling import choice_seed

if TYPE_CHECKING:
    from server.chat.reply_format import ReplyFormat
    from server.chat.thinking import Thinking
    from server.grammar_compiler import ServedGrammar
    from server.tool_choice import ToolUse
    from server.wire.chat_request import ChatCompletionRequest


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
