"""Sequence: the live state of one request; owned by the engine's thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from engine.ending import EndTokens
from engine.output import RequestWork
from engine.sampler.state import SamplingState

if TYPE_CHECKING:
    from engine.drafts import PromptLookup
    from engine.request import Request

_MAX_SCORED_TOKENS: Final = 64
"""Prompt tokens that one step scores at most: each takes a row of logits, 200 kB and more."""


@dataclass(slots=True, eq=False)
class Sequence:
    """What was asked, what was generated so far, and what of it is in the KV pool.

    Args:
        request: what was asked.
        arrival: running number of the request; lower ones go first.
        sampling: what choosing its tokens needs.
        end_tokens: the ids that can end it.
        max_len: tokens of prompt and output together.
        token_ids: prompt and output so far, all settled; the last ones may not be in the KV pool
            yet.
        num_computed_tokens: how many of `token_ids` have their keys and values in the pool.
        block_ids: blocks of the pool that this sequence holds, in order.
        block_hashes: of the first full blocks of `token_ids`, see `PrefixCache`.
        num_published_blocks: how many of its blocks the prefix cache knows.
        num_delivered_tokens: output tokens that were delivered to the caller.
        num_scored_tokens: prompt tokens whose log probability is known or not wanted.
        forces_text: whether tokens that must follow are appended without being sampled.
        lookup: finds drafts; None where drafts are off.
        draft_token_ids: guesses of what comes after `token_ids`, legal under the constraint.
        was_closed: whether the token limit has narrowed what could be written.
        automaton_progress: the state of the request's automaton, and how many output tokens lead
            to it.
        work: what the request has cost so far.
    """

    request: Request
    arrival: int
    sampling: SamplingState
    end_tokens: EndTokens
    max_len: int
    token_ids: list[int] = field(default_factory=list)
    num_computed_tokens: int = 0
    block_ids: list[int] = field(default_factory=list)
    block_hashes: list[bytes] = field(default_factory=list)
    num_published_blocks: int = 0
    num_delivered_tokens: int = 0
    num_scored_tokens: int = 0
    forces_text: bool = False
    lookup: PromptLookup | None = None
    draft_token_ids: list[int] = field(default_factory=list)
    was_closed: bool = False
    automaton_progress: tuple[int, int] = (0, 0)
    work: RequestWork = field(default_factory=RequestWork)

    @classmethod
    def from_request(
        cls,
        request: Request,
        *,
        arrival: int,
        eos_token_ids: tuple[int, ...] = (),
        max_model_len: int,
        forced_text: bool = False,
        lookup: PromptLookup | None = None,
    ) -> Sequence:
        """A sequence of which nothing is computed yet.

        Args:
            request: what was asked.
            arrival: running number of the request.
            eos_token_ids: of the model.
            max_model_len: tokens of prompt and output together at most.
            forced_text: whether text may be forced, where the request lets it.
            lookup: finds drafts; None: there are none.
        """
        prompt_len = len(request.prompt_token_ids)
        scoring = request.prompt_scoring
        return cls(
            request=request,
            arrival=arrival,
            sampling=SamplingState(request.sampling, request.prompt_token_ids),
            end_tokens=EndTokens.from_request(request, eos_token_ids),
            max_len=min(prompt_len + request.sampling.max_tokens, max_model_len),
            token_ids=list(request.prompt_token_ids),
            num_scored_tokens=prompt_len if scoring is None else scoring.start,
            # Log probabilities are of sampled tokens, so who wants them has all tokens sampled.
            forces_text=forced_text and request.sampling.num_logprobs is None and scoring is None,
            lookup=lookup,
        )

    @property
    def prompt_len(self) -> int:
        """Tokens of the prompt."""
        return len(self.request.prompt_token_ids)

    @property
    def num_output_tokens(self) -> int:
        """Generated tokens, end tokens not counted."""
        return len(self.token_ids) - self.prompt_len

    @property
    def num_tokens_left(self) -> int:
        """How many more tokens the output may have."""
        return self.max_len - len(self.token_ids)

    @property
    def num_uncomputed_tokens(self) -> int:
        """Tokens that the next steps must compute before one can be sampled; 1 while decoding."""
        return len(self.token_ids) - self.num_computed_tokens

    @property
    def is_prefilling(self) -> bool:
        """Whether the prompt is not computed to its end."""
        return self.num_computed_tokens < self.prompt_len

    @property
    def num_reusable_tokens(self) -> int:
        """First tokens whose keys and values may come from elsewhere: all but those with logits."""
        scored_from = len(self.token_ids)
        if self.num_scored_tokens < self.prompt_len:
            scored_from = self.num_scored_tokens
        return min(len(self.token_ids), scored_from) - 1

    @property
    def max_chunk_tokens(self) -> int:
        """Tokens that one step may compute, so that it does not score too many."""
        if self.num_scored_tokens == self.prompt_len:
            return self.num_uncomputed_tokens
        unscored = max(0, self.num_scored_tokens - 1 - self.num_computed_tokens)
        return unscored + _MAX_SCORED_TOKENS

    def automaton_state(self) -> int:
        """The state of the request's automaton behind all output tokens."""
        automaton = self.request.automaton
        assert automaton is not None, "only constraints with tables have states"
        state, num_followed = self.automaton_progress
        for token_id in self.token_ids[self.prompt_len + num_followed :]:
            state = automaton.next_state(state, token_id)
        self.automaton_progress = (state, self.num_output_tokens)
        return state

    def append(self, token_id: int) -> None:
        """Add a settled output token."""
        self.token_ids.append(token_id)
        self.sampling.record(token_id)

    def start_at(self, num_computed_tokens: int) -> None:
        """Begin to run; so many tokens need not be computed."""
        self.num_computed_tokens = num_computed_tokens
        if self.work.num_preemptions == 0:
            self.work.num_cached_tokens = min(num_computed_tokens, self.prompt_len)

    def restart(self) -> None:
        """All blocks were lost: compute everything again, later."""
        self.num_computed_tokens = 0
        self.num_published_blocks = 0
        self.work.num_preemptions += 1

    def take_undelivered(self) -> tuple[int, ...]:
        """The output tokens that were not delivered to the caller yet."""
        begin = self.prompt_len + self.num_delivered_tokens
        token_ids = tuple(self.token_ids[begin:])
        self.num_delivered_tokens += len(token_ids)
        return token_ids
