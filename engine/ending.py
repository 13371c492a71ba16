"""When a sequence ends: end tokens, constraints and lengths, decided at each sampled token.

An unconstrained sequence ends with an end-of-sequence id (unless `ignore_eos`) or a stop id of the
request. A constrained one ends when its constraint has terminated: its mask alone says when an
end-of-sequence id may come, and a stop id is kept out of the text until the text is complete. So no
end token cuts a constrained text short, and where the constraint leaves no other choice it wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.output import FinishReason

if TYPE_CHECKING:
    from engine.request import Request
    from engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class EndTokens:
    """The ids that can end one sequence.

    Args:
        stop_ids: those that the request added.
        all_ids: those and the model's end-of-sequence ids that count for this request.
    """

    stop_ids: frozenset[int]
    all_ids: frozenset[int]

    @classmethod
    def from_request(cls, request: Request, eos_token_ids: tuple[int, ...]) -> EndTokens:
        """`ignore_eos` has no meaning under a constraint, whose mask decides."""
        stop_ids = frozenset(request.sampling.stop_token_ids)
        ignores_eos = request.sampling.ignore_eos and request.constraint is None
        return cls(stop_ids, stop_ids if ignores_eos else stop_ids | frozenset(eos_token_ids))


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of a sampled token.

    Args:
        is_output: whether it is part of the output; end tokens are not.
        finish_reason: None while the sequence goes on.
    """

    is_output: bool
    finish_reason: FinishReason | None


class TokenRejectedError(Exception):
    """The sequence's constraint refuses a token that its own mask allowed."""


def avoided_token_ids(sequence: Sequence, ahead: tuple[int, ...] = ()) -> frozenset[int]:
    """The ids that the next token of the sequence should not be, if there is another choice.

    Args:
        sequence: whose constraint stands behind `ahead`.
        ahead: drafts that are taken to be written already.
    """
    ends = sequence.end_tokens
    sampling = sequence.request.sampling
    avoided = _ends_of_bad_words(sequence, ahead) if sampling.bad_words else frozenset()
    if sequence.num_output_tokens + len(ahead) < sampling.min_tokens:
        return avoided | ends.all_ids
    constraint = sequence.request.constraint
    if ends.stop_ids and constraint is not None and not constraint.is_complete:
        return avoided | ends.stop_ids
    return avoided


def _ends_of_bad_words(sequence: Sequence, ahead: tuple[int, ...]) -> frozenset[int]:
    """The last ids of the bad words whose other ids have just been written."""
    bad_words = sequence.request.sampling.bad_words
    longest = max(map(len, bad_words)) - 1
    begin = max(sequence.prompt_len, len(sequence.token_ids) + len(ahead) - longest)
    written = (*sequence.token_ids[begin:], *ahead)[-longest:] if longest else ()
    return frozenset(
        word[-1]
        for word in bad_words
        if len(word) == 1 or written[len(written) - len(word) + 1 :] == word[:-1]
    )


def accept_token(sequence: Sequence, token_id: int) -> Acceptance:
    """Advance the sequence and its constraint by a token, sampled or forced.

    Raises:
        TokenRejectedError: the constraint refuses the token; also whatever the constraint raises.
    """
    constraint = sequence.request.constraint
    # Inside an incomplete text an end token is text: its mask had no other choice.
    is_end = token_id in sequence.end_tokens.all_ids and (
        constraint is None or constraint.is_complete
    )
    if is_end and (constraint is None or token_id in sequence.end_tokens.stop_ids):
        return Acceptance(is_output=False, finish_reason=FinishReason.STOP)
    if constraint is not None:
        if not constraint.accept_token(token_id):
            raise TokenRejectedError(
                f"the constraint refused token {token_id}, which it had allowed"
            )
        if constraint.is_terminated:
            if not is_end:
                sequence.append(token_id)
            return Acceptance(is_output=not is_end, finish_reason=FinishReason.STOP)
    sequence.append(token_id)
    if sequence.num_tokens_left > 0:
        return Acceptance(is_output=True, finish_reason=None)
    return Acceptance(is_output=True, finish_reason=_reason_at_limit(sequence))


def _reason_at_limit(sequence: Sequence) -> FinishReason:
    """A text that was to close and is complete has lost nothing that its constraint asks for."""
    request = sequence.request
    if request.on_length == "cut" or request.constraint is None:
        return FinishReason.LENGTH
    sequence.was_closed = True
    return FinishReason.STOP if request.constraint.is_complete else FinishReason.LENGTH
