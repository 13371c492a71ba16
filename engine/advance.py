"""Advancing a sequence by what was sampled, and by the text that must follow."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from engine.drafts import make_drafts
from engine.ending import TokenRejectedError, accept_token, avoided_token_ids
from engine.errors import failure_sentence
from engine.output import FinishReason
from engine.prefix_cache import num_equal

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.output import TokenLogprobs
    from engine.sampler.sampler import SampledToken
    from engine.sequence import Sequence
    from engine.step_runner import ChunkResult


logger = logging.getLogger(__name__)

_Arguments = ParamSpec("_Arguments")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a sequence ends.

    Args:
        reason: why.
        error: a sentence, set exactly when the reason is ERROR.
        is_rejection: whether its constraint has refused a token that it had allowed.
    """

    reason: FinishReason
    error: str | None = None
    is_rejection: bool = False


class NoFiniteLogitError(Exception):
    """There was nothing to choose from: every logit is NaN, infinite or impossible."""


def isolate(
    act: Callable[Concatenate[Sequence, _Arguments], FinishReason | None],
    sequence: Sequence,
    *arguments: _Arguments.args,
    **keywords: _Arguments.kwargs,
) -> Ending | None:
    """Do something with one sequence; whatever goes wrong is the end of that sequence alone.

    Returns:
        How it ends, None while it goes on.
    """
    try:
        reason = act(sequence, *arguments, **keywords)
    except NoFiniteLogitError:
        return Ending(FinishReason.ERROR, "the model gave no finite logit to choose from")
    except TokenRejectedError as error:
        return Ending(FinishReason.ERROR, str(error), is_rejection=True)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust backends are BaseExceptions
        sequence_id = sequence.request.request_id
        logger.exception(
            "%s: a constraint failed to advance", sequence_id, extra={"sequence_id": sequence_id}
        )
        return Ending(FinishReason.ERROR, failure_sentence("the constraint", error))
    return None if reason is None else Ending(reason)


def advance(
    sequence: Sequence,
    result: ChunkResult,
    draft_token_ids: tuple[int, ...],
    *,
    logprobs: list[TokenLogprobs],
) -> FinishReason | None:
    """Accept the sampled tokens, each as long as those before it agree with the drafts.

    Token i was sampled behind the first i drafts. Forced tokens that a sampled one brings are held
    against the drafts as well, so the text is the same with drafts and without.

    Args:
        sequence: changed in place, its constraint too; its own tokens are computed, so far as the
            result reaches.
        result: of its chunk.
        draft_token_ids: the guesses that were computed behind its last token, or what the device
            sampled there.
        logprobs: gets an entry for each token that was sampled and is part of the output.

    Returns:
        Why the sequence ends, None while it goes on.

    Raises:
        NoFiniteLogitError: there is no token, or a prompt token has no score.
        TokenRejectedError: the constraint refuses a token; also whatever the constraint raises.
    """
    if not all(math.isfinite(entry.logprob) for entry in result.scored):
        raise NoFiniteLogitError
    if not result.sampled:
        return None
    if sequence.num_tokens_left == 0:
        return FinishReason.LENGTH  # only the prompt was to be scored
    num_before = len(sequence.token_ids)
    are_guesses = result.num_passes == 1
    sequence.work.num_draft_tokens += len(draft_token_ids) * are_guesses
    finish_reason = None
    while finish_reason is None:
        num_settled = len(sequence.token_ids) - num_before
        if tuple(sequence.token_ids[num_before:]) != draft_token_ids[:num_settled]:
            break
        finish_reason = _accept_sampled(sequence, result.sampled[num_settled], logprobs)
    num_right = num_equal(sequence.token_ids[num_before:], draft_token_ids)
    sequence.num_computed_tokens += num_right
    sequence.work.num_accepted_draft_tokens += num_right * are_guesses
    return finish_reason


def _accept_sampled(
    sequence: Sequence, token: SampledToken, logprobs: list[TokenLogprobs]
) -> FinishReason | None:
    """Accept one sampled token and what it forces."""
    if token.token_id is None:
        raise NoFiniteLogitError
    sequence.was_closed |= token.was_narrowed
    acceptance = accept_token(sequence, token.token_id)
    if acceptance.is_output and token.logprobs is not None:
        logprobs.append(token.logprobs)
    return acceptance.finish_reason or force_text(sequence)


def force_text(sequence: Sequence) -> FinishReason | None:
    """Append the tokens that must follow; they are computed together with the next step.

    The tokens are the canonical ones of the forced text, where the sampler might have spelled it
    otherwise. So a token that the caller has a say in (bias, bad words, stop ids) is left to the
    sampler.

    Returns:
        Why the sequence ends, None while it goes on.

    Raises:
        TokenRejectedError: the constraint refuses a token that it forced; also what it raises.
    """
    constraint = sequence.request.constraint
    if constraint is None or not sequence.forces_text:
        return None
    while forced := constraint.forced_tokens():
        for token_id in forced:
            # Where the text may end there is a choice, whatever the constraint thinks forced.
            if constraint.is_complete or not _may_force(sequence, token_id):
                return None
            finish_reason = accept_token(sequence, token_id).finish_reason
            sequence.work.num_forced_tokens += 1
            if finish_reason is not None:
                return finish_reason
    return None


def _may_force(sequence: Sequence, token_id: int) -> bool:
    """Whether a forced token is not better left to the sampler."""
    return (
        token_id not in sequence.request.sampling.logit_bias
        and token_id not in avoided_token_ids(sequence)
        and _leaves_room(sequence, token_id)
    )


def _leaves_room(sequence: Sequence, token_id: int) -> bool:
    """Whether a text that is to close still can after this token: another may spell more."""
    constraint = sequence.request.constraint
    if constraint is None or sequence.request.on_length == "cut":
        return True
    if not constraint.accept_token(token_id):
        return True  # accept_token() tells
    needed = constraint.min_tokens_to_complete()
    constraint.rollback(1)
    return needed <= sequence.num_tokens_left - 1


def prepare_drafts(sequence: Sequence, max_draft_tokens: int) -> None:
    """Guess what may come next; the step that samples the next token checks it.

    Raises:
        Exception: whatever the constraint raises.
    """
    sequence.draft_token_ids = make_drafts(sequence, max_draft_tokens)
