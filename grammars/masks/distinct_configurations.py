"""DistinctConfigurations: configurations of texts that remember what must not be written again.

Keys of objects are remembered as `KeyFrame`s wherever these suffice, beside configurations that all
texts share. Everything else (elements that must differ, keys of which there are only a few) is read
byte by byte by a `DistinctWalk`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.errors import LimitExceededError
from grammars.masks.configuration import WINDOW_SIZE, Configuration
from grammars.masks.distinct_point import DistinctPoint
from grammars.masks.distinct_tokens import DistinctTokens, allowed_among
from grammars.masks.distinct_walk import DistinctWalk
from grammars.masks.hops import Hops
from grammars.masks.json_scan import OUTSIDE, scan_all
from grammars.masks.key_frames import as_distinct, as_keys, frames_after, keyed
from grammars.masks.key_tokens import KeyTokens
from grammars.masks.next_elements import NextElements
from grammars.masks.reference import PlainConfiguration, ReferenceWalk
from grammars.masks.text_counts import TextCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from grammars.masks.completion import Completion
    from grammars.masks.configuration import ConfigurationTable, Frame
    from grammars.masks.hops import Hop
    from grammars.masks.key_frames import KeyPoint
    from grammars.masks.steps import Steps
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.protocol import Bitmask
    from grammars.pushdown.structural import StructuralStates
    from grammars.pushdown.tables import AutomatonTables
    from grammars.vocabulary import Vocabulary

_OPENING: Final = frozenset(b"[{")


class DistinctConfigurations:
    """Steps and masks where texts must differ; all methods need `AutomatonTables.lock`.

    Args:
        tables: the automaton.
        states: the structural layer that expands it.
        vocabulary: the tokens.
        tokens: of the vocabulary.
        steps: by the automaton alone.
        configurations: where configurations are shared.
        is_plain: whether all is read byte by byte and masks are made token by token, as their
            reference.
    """

    def __init__(
        self,
        tables: AutomatonTables,
        states: StructuralStates,
        vocabulary: Vocabulary,
        tokens: TokenSymbols,
        steps: Steps,
        configurations: ConfigurationTable,
        *,
        is_plain: bool = False,
    ) -> None:
        self._states = states
        self._plain_walk = ReferenceWalk(tables, states, vocabulary)
        counts = None if is_plain else TextCounts(tables)
        self._walk = DistinctWalk(self._plain_walk, states, tables, counts)
        self._reader = DistinctTokens(self._walk, tokens, vocabulary)
        self._token_bytes = vocabulary.token_bytes
        self._key_tokens = vocabulary.derive(KeyTokens)
        self._steps = steps
        self._hops = Hops(steps, states, vocabulary)
        self._configurations = configurations
        self._is_plain = is_plain

    @property
    def may_repeat_keys(self) -> bool:
        """Whether there are undeclared keys that must differ."""
        return self._states.may_repeat_keys

    @property
    def num_hops(self) -> int:
        """How many hops the shared configurations know."""
        return len(self._hops)

    def forget_hops(self) -> None:
        """Told when the shared configurations have forgotten them."""
        self._hops.forgotten()

    def step(self, configuration: Configuration, token_id: int) -> Configuration | None:
        """The configuration after a token, None where it is refused.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        if self._is_plain:
            if configuration.point is None and not self._may_open(token_id):
                return self._steps.after(configuration, token_id)
        elif configuration.point is None:
            keys = configuration.keys
            hop = self._hops.find(configuration if keys is None else keys.shared, token_id)
            if hop is None:
                return None
            if hop.is_told_by_keys and (keys is None or _is_told(hop, keys)):
                return _after_keys(configuration, hop)
        point = self._reader.read(self._point(configuration), token_id)
        return None if point is None else self._configuration(point)

    def refused(self, configuration: Configuration, words: Bitmask) -> list[int]:
        """The tokens that the automaton allows and that would repeat what must differ.

        Args:
            configuration: where.
            words: the tokens that the automaton allows; in objects whose keys must differ, those
                that its shared configuration allows.
        """
        if self._is_plain:
            return self._reader.refused_by_scan(self._point(configuration), words)
        if configuration.point is not None:
            return self._reader.refused(configuration.point, words)
        if configuration.keys is None:
            opening = self._reader.opening(words)
            return self._refused_among(opening, configuration) if opening else []
        return self._refused_by_keys(configuration, configuration.keys, words)

    def next_elements(self, by_bytes: Completion | None) -> NextElements:
        """What the next elements of arrays cost, for one `Completion`; see `NextElements`."""
        return NextElements(self._walk, self._states, self._plain_configuration, by_bytes)

    def num_beyond(self, configuration: Configuration) -> int:
        """How many elements more than its place tells an open array has, that with the most."""
        point = configuration.point
        if point is None:
            return 0
        stack = (*reversed(point.plain.below), point.plain.state)
        arrays = [frame for frame in point.frames if not frame.has_keys]
        return max(
            (frame.num_elements - self._states.num_counted(stack[frame.depth]) for frame in arrays),
            default=0,
        )

    def num_tokens(
        self, configuration: Configuration, num_tokens: Callable[[Configuration], int]
    ) -> int:
        """How many tokens complete a text that may still become an earlier one.

        There is a token for each byte until it has left the earlier ones, or its element has ended
        as none of them. On this way it is nowhere less than what the automaton alone needs: so
        that it falls with each byte, and the promise for elements that are owed holds. Of keys that
        never run out all that `num_tokens` gives is true enough.

        Args:
            configuration: where the text is.
            num_tokens: what the automaton alone needs.

        Raises:
            LimitExceededError: raised by `num_tokens` for all ways.
        """
        point = self._point(configuration)
        plain = self._plain_configuration
        queue = [(num_tokens(plain(point.plain)), not point.may_end_plainly, 0, 0, point)]
        num_queued, error = 0, None
        while queue:
            most, is_among, num_left, _, point = heappop(queue)
            if not is_among:
                return most
            for num_bytes, after in self._walk.ways_out(point):
                try:
                    rest = num_tokens(plain(after.plain))
                except LimitExceededError as caught:
                    error = caught
                    continue
                num_queued += 1
                length = num_bytes - num_left
                bound = max(most, length + rest)
                heappush(queue, (bound, not after.may_end_plainly, -length, num_queued, after))
        assert error is not None, "the text is alive"
        raise error

    def _may_open(self, token_id: int) -> bool:
        """Whether a token may open a frame of distinct texts."""
        return not _OPENING.isdisjoint(self._token_bytes.get(token_id, b""))

    def _refused_by_keys(
        self, configuration: Configuration, keys: KeyPoint, words: Bitmask
    ) -> list[int]:
        """`refused` in objects whose keys must differ."""
        frame = keys.frames[-1]
        ending = self._key_tokens.ending(frame.text, frame.keys) if frame.is_open else []
        refused = [token_id for found in ending for token_id in allowed_among(found, words)]
        for found in self._key_tokens.following(keys.frames):
            refused += self._refused_among(allowed_among(found, words), configuration)
        return refused

    def _refused_among(self, token_ids: list[int], configuration: Configuration) -> list[int]:
        """Those of some tokens that the plain walk refuses."""
        point = self._point(configuration)
        return [t for t in token_ids if self._reader.read(point, t) is None]

    def _point(self, configuration: Configuration) -> DistinctPoint:
        if configuration.point is not None:
            return configuration.point
        below, keys = configuration.below, configuration.keys
        plain = PlainConfiguration(
            configuration.state,
            configuration.lexer,
            configuration.counted,
            configuration.is_fresh,
            () if below is None else below.states(),
        )
        if keys is None:
            return DistinctPoint(plain)
        return DistinctPoint(plain, tuple(map(as_distinct, keys.frames)), keys.scanned)

    def _plain_configuration(self, plain: PlainConfiguration) -> Configuration:
        """The shared configuration of where the automaton is."""
        return self._configurations.configuration(
            plain.state,
            plain.lexer,
            plain.counted,
            self._frames(plain),
            is_fresh=plain.is_fresh,
            is_complete=self._plain_walk.is_complete(plain),
        )

    def _frames(self, plain: PlainConfiguration) -> Frame | None:
        below = None
        for state in reversed(plain.below):
            below = self._configurations.frame(state, below)
        return below

    def _configuration(self, point: DistinctPoint) -> Configuration:
        plain = point.plain
        frames = None if self._is_plain else as_keys(point.frames)
        if not point.frames or frames is not None:
            shared = self._plain_configuration(plain)
            return keyed(shared, frames, point.scanned) if frames else shared
        return Configuration(
            plain.state,
            plain.lexer,
            plain.counted,
            plain.is_fresh,
            False,  # the frames are still open
            self._frames(plain),
            np.array(plain.below[:WINDOW_SIZE], np.int64),
            point=point,
        )


def _is_told(hop: Hop, keys: KeyPoint) -> bool:
    """Whether a token adds no escape to a key."""
    return b"\\" not in hop.data or not keys.frames[-1].is_open


def _after_keys(configuration: Configuration, hop: Hop) -> Configuration | None:
    """The configuration after a token of which keys tell all; None where it is refused."""
    keys = configuration.keys
    frames = frames_after(() if keys is None else keys.frames, configuration.depth, hop)
    if not frames:
        return None if frames is None else hop.configuration
    if keys is None:
        scanned = scan_all(hop.data[hop.num_before_keys :], OUTSIDE)
        return keyed(hop.configuration, frames, scanned)
    scanned = scan_all(hop.data, keys.scanned)
    if frames is keys.frames and hop.configuration is keys.shared and scanned == keys.scanned:
        return configuration  # still in the same string
    return keyed(hop.configuration, frames, scanned)
