"""CompletionChoice: the steps of one choice to pieces of its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.answer.completions.logprobs import TokenList, joined
from server.reply.events import TextEvent

if TYPE_CHECKING:
    from server.answer.bodies import Json
    from server.completions import AdmittedCompletion
    from server.reply.choice import FinishName, ReplyStep
    from server.reply.spelling import Spellings


@dataclass(frozen=True, slots=True)
class CompletionPiece:
    """What one step adds to a choice.

    Args:
        text: more of it.
        logprobs: of its tokens, where they are asked for.
        finish: set on the last piece.
        was_closed: whether the length limit has narrowed the text, so that it is whole.
        num_missing_tokens: see `ReplyStep`.
    """

    text: str
    logprobs: Json | None
    finish: FinishName | None
    was_closed: bool
    num_missing_tokens: int | None


class CompletionChoice:
    """One choice, as it grows.

    Args:
        completion: what was admitted.
        spellings: of the model's tokens.
    """

    def __init__(self, completion: AdmittedCompletion, spellings: Spellings) -> None:
        self._completion = completion
        self._has_logprobs = bool(completion.chat.request.logprobs)
        self._tokens = TokenList(spellings)
        self._echo = completion.echo  # until it is told
        self._logprobs: list[Json] = []  # of tokens whose text is still held back
        if completion.echoed_token_ids:
            token_id = completion.echoed_token_ids[0]
            is_shown = completion.echo.encode().startswith(spellings.bytes_of(token_id))
            self._logprobs.append(self._tokens.first(token_id, is_shown=is_shown))

    def step(self, step: ReplyStep) -> CompletionPiece | None:
        """The piece that a step adds; None while nothing can be sent.

        An echoed prompt is sent with the first piece behind it, once all of it has been scored.
        """
        if self._completion.echoed_token_ids and step.prompt_logprobs:
            self._logprobs.append(self._tokens.more(step.prompt_logprobs, is_echo=True))
        if self._has_logprobs and step.logprobs:
            self._logprobs.append(self._tokens.more(step.logprobs, is_echo=False))
        text = "".join(event.text for event in step.events if isinstance(event, TextEvent))
        if not text and step.finish is None:
            return None
        text, self._echo = self._echo + text, ""
        logprobs, self._logprobs = self._logprobs, []
        told = joined(logprobs) if self._has_logprobs else None
        return CompletionPiece(text, told, step.finish, step.was_closed, step.num_missing_tokens)
