"""Closing: the tokens after which a text can still be completed in time, see decision 0013."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.errors import LimitExceededError
from grammars.masks.completion import Completion
from grammars.masks.earlier_words import EarlierWords
from grammars.masks.leaving_tokens import LeavingTokens
from grammars.masks.needed_tokens import REFUSED, NeededTokens
from grammars.masks.string_places import StringPlaces
from grammars.masks.token_spelling import in_bytes, in_tokens
from grammars.masks.token_symbols import build_token_symbols

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.configuration import Configuration
    from grammars.masks.distinct_configurations import DistinctConfigurations
    from grammars.masks.needed_tokens import Needed
    from grammars.masks.steps import Steps
    from grammars.protocol import Bitmask
    from grammars.pushdown.actions import Expander
    from grammars.pushdown.tables import AutomatonTables
    from grammars.vocabulary import Vocabulary


_SPARE_TOKENS: Final = 1
"""The shortest way to an end may write a key that is taken; another takes a token more."""

_MANY: Final = 2**30
"""More tokens than any text may have."""


class Closing:
    """All methods need `AutomatonTables.lock`, and may raise what the expander raises.

    Args:
        tables: the automaton.
        expander: makes what the tables lack.
        vocabulary: the tokens.
        steps: from one configuration to the next.
        distinct: the same for texts that must differ, where there are such.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        expander: Expander,
        vocabulary: Vocabulary,
        steps: Steps,
        distinct: DistinctConfigurations | None,
    ) -> None:
        self._tables = tables
        self._expander = expander
        self._vocabulary = vocabulary
        self._steps = steps
        self._distinct = distinct
        self._completions: dict[int, Completion] = {}  # by the number of earlier elements

    @cached_property
    def _completion(self) -> Completion:
        """Made for the first text that has to close."""
        return self._new_completion(0)

    def _new_completion(self, num_written: int) -> Completion:
        tables, expander = self._tables, self._expander
        tokens = self._vocabulary.derive(in_tokens)
        if self._distinct is None:
            return Completion(tables, expander, tokens)
        elements = self._distinct.next_elements(None)
        by_bytes = Completion(tables, expander, in_bytes(), elements, num_written)
        elements = self._distinct.next_elements(by_bytes)
        return Completion(tables, expander, tokens, elements, num_written)

    def _completion_beside(self, configuration: Configuration) -> Completion:
        """That for as many earlier elements as a text has."""
        if self._distinct is None or not self._completion.asks_for_written:
            return self._completion
        num_written = self._distinct.num_beyond(configuration)
        if num_written == 0:
            return self._completion
        num_written = 1 << (num_written - 1).bit_length()
        known = self._completions.get(num_written)
        if known is None:
            known = self._completions[num_written] = self._new_completion(num_written)
        return known

    @cached_property
    def _places(self) -> StringPlaces:
        return StringPlaces(self._tables, self._expander)

    @property
    def _needed(self) -> NeededTokens:
        """Not kept: it holds this, and only Python's collector would free the two."""
        return self._needed_by(self._completion)

    def _needed_by(self, completion: Completion) -> NeededTokens:
        """The same by the costs among so many earlier elements."""
        tokens = self._vocabulary.derive(build_token_symbols)
        num_tokens = partial(self._num_plain_or_many, completion)
        return NeededTokens(
            tokens, self._steps, self._places, completion, num_tokens, self._num_spare
        )

    def num_tokens(
        self,
        configuration: Configuration,
        max_states: int | None = None,
        *,
        lets_others_in: bool = False,
    ) -> int:
        """How many tokens complete a text, see `Completion`."""
        known = configuration.num_to_complete
        if known is None or configuration.num_falls != self._num_falls:
            num_falls = self._num_falls  # there may be more before the number is there
            known = self._num_tokens(configuration, max_states, lets_others_in=lets_others_in)
            configuration.num_to_complete, configuration.num_falls = known, num_falls
        return known

    def words(self, configuration: Configuration, allowed: Bitmask, tokens_left: int) -> Bitmask:
        """Of the allowed tokens, those of `GrammarMatcher.fill_closing_bitmask`.

        Args:
            configuration: where the text is.
            allowed: its mask.
            tokens_left: how many tokens the text may still have.
        """
        most = max(tokens_left, self.num_tokens(configuration)) - 1
        if configuration.most_to_complete is not None and configuration.most_to_complete <= most:
            return allowed
        needed = self._needed_after(configuration, allowed)
        configuration.most_to_complete = max(0, int(needed.max()))
        if self._distinct is not None and not configuration.is_complete:
            most = max(most, _least(needed, allowed))  # the shortest way may be a repeat
        return allowed & ~_packed(needed > most, len(allowed))

    def _num_tokens(
        self, configuration: Configuration, max_states: int | None, *, lets_others_in: bool
    ) -> int:
        if configuration.is_complete:
            return 0
        if self._distinct is None or configuration.point is None:
            return self._num_spare + self._completion.num_tokens(
                configuration, max_states, lets_others_in=lets_others_in
            )
        while True:
            completion = self._completion_beside(configuration)
            num_tokens = partial(self._num_plain, completion, max_states)
            found = self._distinct.num_tokens(configuration, num_tokens)
            if completion is self._completion_beside(configuration):
                return found

    def _num_plain(
        self, completion: Completion, max_states: int | None, configuration: Configuration
    ) -> int:
        """What a shared configuration needs among as many earlier elements."""
        if completion is self._completion or configuration.is_complete:
            return self.num_tokens(configuration, max_states)
        return self._num_spare + completion.num_tokens(configuration, max_states)

    @property
    def _num_spare(self) -> int:
        """Tokens that a text is given beyond those that the automaton alone needs."""
        may_repeat_keys = self._distinct is not None and self._distinct.may_repeat_keys
        return _SPARE_TOKENS if may_repeat_keys else 0

    def _num_plain_or_many(self, completion: Completion, configuration: Configuration) -> int:
        try:
            return self._num_plain(completion, None, configuration)
        except LimitExceededError:
            return _MANY

    def _needed_after(self, configuration: Configuration, allowed: Bitmask) -> Needed:
        """The tokens that complete the text after each allowed token; REFUSED after some others."""
        if configuration.point is None:
            return self._needed.find(configuration.shared)
        words = EarlierWords.at(configuration.point)
        if words is None:
            return self._needed_one_by_one(configuration, allowed)
        # Where a text leaves the earlier ones, it needs what any text does.
        leaving = self._vocabulary.derive(LeavingTokens).find(words)
        needed = self._needed_by(self._completion_beside(configuration))
        needed_plainly = needed.find(configuration.plain)
        others = allowed & ~_packed(leaving, len(allowed))
        return np.where(leaving, needed_plainly, self._needed_one_by_one(configuration, others))

    def _needed_one_by_one(self, configuration: Configuration, allowed: Bitmask) -> Needed:
        """The same by a step of each token, for any grammar; its plain reference."""
        step = self._steps.after if self._distinct is None else self._distinct.step
        needed = np.full(self._vocabulary.padded_size, REFUSED, np.int32)
        bits = np.unpackbits(allowed.view(np.uint8), bitorder="little")
        for token_id in np.flatnonzero(bits).tolist():
            if token_id not in self._vocabulary.end_token_ids:
                after = step(configuration, token_id)
                assert after is not None, "the row allows it"
                needed[token_id] = self._num_tokens_or_many(after)
        return needed

    def _num_tokens_or_many(self, configuration: Configuration) -> int:
        """`num_tokens`; _MANY where it is not known."""
        try:
            return self.num_tokens(configuration)
        except LimitExceededError:
            return _MANY

    @property
    def _num_falls(self) -> int:
        """See `Completion`."""
        others = sum(completion.num_falls for completion in self._completions.values())
        return self._completion.num_falls + others


def _least(needed: Needed, allowed: Bitmask) -> int:
    """What is needed behind the best of the allowed tokens; others may be repeats."""
    is_allowed = np.unpackbits(allowed.view(np.uint8), bitorder="little")[: len(needed)]
    return int(needed[is_allowed.astype(bool) & (needed != REFUSED)].min())


def _packed(is_set: NDArray[np.bool_], num_words: int) -> Bitmask:
    """Flags by token id as a bitmask row."""
    padded = np.zeros(32 * num_words, np.bool_)
    padded[: len(is_set)] = is_set
    return np.packbits(padded, bitorder="little").view(np.int32)
