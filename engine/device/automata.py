"""ResidentAutomata: the tables of finite grammars, one behind the other in the device's memory.

Tensors never move, so CUDA graphs may hold their addresses. A state of a grammar is its own number
plus the grammar's base; state FREE allows everything, for sequences without a constraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from engine.constraint import TokenAutomaton

FREE: Final = 0
"""The state that allows every token and leads to itself."""


@dataclass(frozen=True, slots=True)
class AutomatonTensors:
    """All tables on the device, with room behind what is used.

    Args:
        mask_rows: int32, (max_rows, width).
        row_of_state: int32, (max_states,).
        default_next: int32, (max_states,).
        exception_begin: int32, (max_states + 1,).
        exception_tokens: int32, (max_exceptions,), ascending within a state.
        exception_next: int32, (max_exceptions,).
    """

    mask_rows: torch.Tensor
    row_of_state: torch.Tensor
    default_next: torch.Tensor
    exception_begin: torch.Tensor
    exception_tokens: torch.Tensor
    exception_next: torch.Tensor


class ResidentAutomata:
    """Loads automata when they are needed; starts anew with those in use when memory is full.

    Args:
        width: words of a mask row.
        max_bytes: of all tables; half for rows, three eighths for exceptions, the rest for states.
        device: where they live.
    """

    def __init__(self, width: int, *, max_bytes: int, device: torch.device) -> None:
        max_rows = max(1, max_bytes // 2 // (4 * width))
        max_states = max(1, max_bytes // 8 // 12)
        max_exceptions = max(1, max_bytes * 3 // 8 // 8)

        def zeros(*shape: int) -> torch.Tensor:
            return torch.zeros(shape, dtype=torch.int32, device=device)

        self.tensors = AutomatonTensors(
            mask_rows=zeros(max_rows, width),
            row_of_state=zeros(max_states),
            default_next=zeros(max_states),
            exception_begin=zeros(max_states + 1),
            exception_tokens=zeros(max_exceptions),
            exception_next=zeros(max_exceptions),
        )
        self.tensors.mask_rows[0] = -1
        self._bases: dict[int, tuple[TokenAutomaton, int]] = {}
        self._clear()

    def bases(self, automata: Iterable[TokenAutomaton]) -> list[int] | None:
        """What to add to the states of each, all of them loaded; None if there is no room.

        Valid until the next call.
        """
        wanted = list(automata)
        if not all(map(self._load, wanted)):
            self._clear()
            if not all(map(self._load, wanted)):
                return None
        return [self._bases[id(automaton)][1] for automaton in wanted]

    def _clear(self) -> None:
        """Forget all but state FREE."""
        self._bases.clear()
        self._num_rows = 1
        self._num_states = 1
        self._num_exceptions = 0

    def _load(self, automaton: TokenAutomaton) -> bool:
        """Copy the tables behind the others; False if they do not fit."""
        if id(automaton) in self._bases:
            return True
        tensors = self.tensors
        row, state, exception = self._num_rows, self._num_states, self._num_exceptions
        if (
            row + len(automaton.rows) > len(tensors.mask_rows)
            or state + len(automaton.row_of_state) > len(tensors.row_of_state)
            or exception + len(automaton.exception_tokens) > len(tensors.exception_tokens)
        ):
            return False
        _copy(automaton.rows.view(np.int32), tensors.mask_rows, row)
        _copy(automaton.row_of_state + row, tensors.row_of_state, state)
        _copy(automaton.default_next + state, tensors.default_next, state)
        _copy(automaton.exception_begin + exception, tensors.exception_begin, state)
        _copy(automaton.exception_tokens, tensors.exception_tokens, exception)
        _copy(automaton.exception_next + state, tensors.exception_next, exception)
        # The automaton is kept alive: its id is the key.
        self._bases[id(automaton)] = (automaton, state)
        self._num_rows += len(automaton.rows)
        self._num_states += len(automaton.row_of_state)
        self._num_exceptions += len(automaton.exception_tokens)
        return True


def advance_states(
    tensors: AutomatonTensors, states: torch.Tensor, token_ids: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The states after the tokens.

    Args:
        tensors: the tables.
        states: int32, (num_seqs,).
        token_ids: int64, (num_seqs,).

    Returns:
        The next states, int32, (num_seqs,), and which tokens were not allowed, bool, (num_seqs,);
        the state stays where its token was not.
    """
    if states.device.type == "cpu":
        return advance_states_reference(tensors, states, token_ids)
    return advance_states_by_kernel(tensors, states, token_ids)


def advance_states_by_kernel(
    tensors: AutomatonTensors, states: torch.Tensor, token_ids: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same as `advance_states`, by the Triton kernel."""
    from engine.device.advance_kernel import advance_rows  # only torch's CUDA builds bring triton

    next_states = torch.empty_like(states)
    is_rejected = torch.empty(len(states), dtype=torch.bool, device=states.device)
    advance_rows[(len(states),)](
        states, token_ids, tensors.mask_rows, tensors.row_of_state, tensors.default_next,
        tensors.exception_begin, tensors.exception_tokens, tensors.exception_next,
        next_states, is_rejected, tensors.mask_rows.stride(0),
    )  # fmt: skip
    return next_states, is_rejected


def advance_states_reference(
    tensors: AutomatonTensors, states: torch.Tensor, token_ids: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same as `advance_states`, in plain torch: all sequences bisect together."""
    words = tensors.mask_rows[tensors.row_of_state[states], token_ids // 32]
    is_allowed = ((words >> (token_ids % 32)) & 1).bool()
    low = tensors.exception_begin[states].long()
    end = tensors.exception_begin[states + 1].long()
    high = end
    last = len(tensors.exception_tokens) - 1
    for _ in range(last.bit_length() + 1):
        middle = ((low + high) // 2).clamp(max=last)
        is_before = (tensors.exception_tokens[middle] < token_ids) & (low < high)
        low, high = torch.where(is_before, middle + 1, low), torch.where(is_before, high, middle)
        high = torch.maximum(low, high)
    place = low.clamp(max=last)
    is_exception = (low < end) & (tensors.exception_tokens[place] == token_ids)
    after = torch.where(is_exception, tensors.exception_next[place], tensors.default_next[states])
    return torch.where(is_allowed, after, states), ~is_allowed


def _copy(source: NDArray[np.int32], target: torch.Tensor, begin: int) -> None:
    target[begin : begin + len(source)] = torch.from_numpy(source.copy())
