"""ChoiceReply: one choice's engine outputs, step by step, to what its answer gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as OneOf

from engine.output import FinishReason
from server.errors import InternalError, UnavailableError
from server.reply.detokenizer import Detokenizer, TextPiece
from server.reply.events import CallEndEvent, ReplyEvent, TextEvent, merge_events
from server.reply.parser import ReplyParser
from server.reply.stop_strings import StopStrings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.output import RequestOutput, TokenLogprobs
    from grammars.vocabulary import Vocabulary
    from server.calls.tool import CallableTool
    from server.chat.reply_format import ReplyFormat
    from server.chat.thinking import Thinking
    from server.reply.detokenizer import Piece

FinishName: TypeAlias = OneOf["stop", "length", "tool_calls"]
"""Why an answer ended; the same for every endpoint, which may call it otherwise."""


@dataclass(frozen=True, slots=True)
class ReplyStep:
    """What one engine step adds to one choice.

    Args:
        events: in order.
        logprobs: of the step's tokens, where asked for.
        prompt_logprobs: of the next tokens of the prompt, where asked for.
        num_tokens: tokens of the step.
        num_reasoning_tokens: those of them that are thoughts or their tags.
        finish: set on the last step.
        stop_string: on the last step: the stop string that ended the text, if one did.
        was_closed: on the last step: the length limit has narrowed what was written, so that it is
            whole (`on_length: "close"`).
        num_missing_tokens: on the last step of a constrained text that the limit has cut: how many
            more tokens would surely have completed it, if that is known.
    """

    events: tuple[ReplyEvent, ...]
    logprobs: tuple[TokenLogprobs, ...] = ()
    prompt_logprobs: tuple[TokenLogprobs, ...] = ()
    num_tokens: int = 0
    num_reasoning_tokens: int = 0
    finish: FinishName | None = None
    stop_string: str | None = None
    was_closed: bool = False
    num_missing_tokens: int | None = None


class ChoiceReply:
    """Detokenises, parses and cuts one choice.

    Stop strings end the answer's own text only: not thoughts, not calls, not documents.

    Args:
        vocabulary: of the model.
        reply_format: how the model writes.
        tools: whose calls are looked for.
        calls_anywhere: see `ReplyParser`.
        is_all_calls: see `ReplyParser`.
        thinking: where the answer stands to a reasoning block.
        stops: stop strings.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        reply_format: ReplyFormat,
        tools: tuple[CallableTool, ...],
        calls_anywhere: bool = True,
        is_all_calls: bool = False,
        thinking: Thinking,
        stops: tuple[str, ...],
    ) -> None:
        controls = {control.text for control in vocabulary.controls}
        self._detokenizer = Detokenizer(vocabulary, reply_format.tags)
        self._parser = ReplyParser(
            tools=tools,
            thinking=thinking,
            reply_format=reply_format,
            calls_anywhere=calls_anywhere,
            is_all_calls=is_all_calls,
            token_tags=tuple(tag for tag in reply_format.tags if tag in controls),
        )
        self._stops = StopStrings(stops)
        self._has_calls = False

    def add(self, output: RequestOutput) -> ReplyStep:
        """Take one output of the engine; nothing may be added behind a step with a finish.

        Raises:
            InternalError: the generation of this choice failed.
            UnavailableError: it was aborted by the server.
        """
        if output.finish_reason is FinishReason.ERROR:
            raise InternalError(f"The generation failed: {output.error}")
        if output.finish_reason is FinishReason.ABORT:
            raise UnavailableError("The generation was aborted; the server is shutting down")
        events: list[ReplyEvent] = []
        num_tokens = num_reasoning_tokens = 0
        for token_id in output.token_ids:
            if self._stops.has_stopped:
                break  # one step may bring several tokens; those behind a stop string do not count
            num_tokens += 1
            was_reasoning = self._parser.is_reasoning
            events += self._cut(self._parse(self._detokenizer.feed((token_id,))))
            num_reasoning_tokens += was_reasoning or self._parser.is_reasoning
        finish = output.finish_reason
        if finish is not None and not self._stops.has_stopped:
            events += self._cut(self._parse(self._detokenizer.finish()))
            events += self._cut(self._parser.finish(is_cut=finish is FinishReason.LENGTH))
            rest = self._stops.release()
            events += [TextEvent(rest)] if rest else []
        if self._stops.has_stopped:
            finish = FinishReason.STOP
        return ReplyStep(
            events=tuple(merge_events(events)),
            logprobs=output.logprobs[:num_tokens],
            prompt_logprobs=output.prompt_logprobs,
            num_tokens=num_tokens,
            num_reasoning_tokens=num_reasoning_tokens,
            finish=None if finish is None else self._finish_name(finish),
            stop_string=self._stops.found,
            was_closed=output.was_closed,
            num_missing_tokens=(
                output.num_missing_tokens if finish is FinishReason.LENGTH else None
            ),
        )

    def _parse(self, pieces: Iterable[Piece]) -> list[ReplyEvent]:
        events: list[ReplyEvent] = []
        for piece in pieces:
            if isinstance(piece, TextPiece):
                events += self._parser.feed(piece.text)
            else:
                events += self._parser.feed_tag(piece.tag)
        return events

    def _cut(self, events: Iterable[ReplyEvent]) -> list[ReplyEvent]:
        """The events up to the first stop string in the text."""
        kept: list[ReplyEvent] = []
        for event in events:
            if self._stops.has_stopped:
                break
            if isinstance(event, TextEvent):
                text = self._stops.feed(event.text)
                kept += [TextEvent(text)] if text else []
                continue
            text = self._stops.release()
            kept += [TextEvent(text), event] if text else [event]
            self._has_calls |= isinstance(event, CallEndEvent)
        return kept

    def _finish_name(self, reason: FinishReason) -> FinishName:
        """`length` says that something is missing, so it goes before `tool_calls`."""
        if reason is FinishReason.LENGTH:
            return "length"
        return "tool_calls" if self._has_calls else "stop"
