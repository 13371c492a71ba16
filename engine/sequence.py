"""Sequence: what is going on with one request; owned by the engine's thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.ending import EndTokens
from engine.sampler.state import SamplingState

if TYPE_CHECKING:
    from engine.request import Request


@dataclass(slots=True, eq=False)
class Sequence:
    """The live state of a request.

    Args:
        request: what was asked.
        arrival: running number of the request; lower ones go first.
        sampling: what choosing its tokens needs.
        end_tokens: the ids that can end it.
        token_ids: prompt and output so far; the last one may not be in the KV pool yet.
        num_computed_tokens: how many of `token_ids` have their keys and values in the pool.
        block_ids: blocks of the pool that this sequence holds, in order.
    """

    request: Request
    arrival: int
    sampling: SamplingState
    end_tokens: EndTokens
    token_ids: list[int] = field(default_factory=list)
    num_computed_tokens: int = 0
    block_ids: list[int] = field(default_factory=list)

    @classmethod
    def from_request(
        cls, request: Request, *, arrival: int, eos_token_ids: tuple[int, ...]
    ) -> Sequence:
        """A sequence of which nothing is computed yet."""
        return cls(
            request=request,
            arrival=arrival,
            sampling=SamplingState(request.sampling, request.prompt_token_ids),
            end_tokens=EndTokens.from_request(request, eos_token_ids),
            token_ids=list(request.prompt_token_ids),
        )

    @property
    def num_output_tokens(self) -> int:
        """Generated tokens, end tokens not counted."""
        return len(self.token_ids) - len(self.request.prompt_token_ids)

    @property
    def num_uncomputed_tokens(self) -> int:
        """Tokens that the next steps must compute before one can be sampled; 1 while decoding."""
        return len(self.token_ids) - self.num_computed_tokens

    def append(self, token_id: int) -> None:
        """Add a generated token."""
        self.token_ids.append(token_id)
        self.sampling.record(token_id)
