"""DistinctConfigurations: configurations of texts that remember what must not be written again.

Keys of objects are remembered as `KeyFrame`s wherever these suffice, beside configurations that all
texts share. Everything else (elements that must differ, keys of which there are only a few) is read
byte by byte by a `DistinctWalk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from grammars.masks.configuration import WINDOW_SIZE, Configuration
from grammars.masks.distinct_tokens import DistinctTokens, allowed_among
from grammars.masks.distinct_walk import DistinctPoint, DistinctWalk
from grammars.masks.json_scan import OUTSIDE, scan_all
from grammars.masks.key_frames import as_distinct, as_keys, frames_after, keyed
from grammars.masks.key_tokens import KeyTokens
from grammars.masks.reference import PlainConfiguration, ReferenceWalk
from grammars.pushdown.distinct import Distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.configuration import ConfigurationTable
    from grammars.masks.key_frames import KeyPoint
    from grammars.masks.steps import Hop, Steps
    from grammars.masks.token_symbols import TokenSymbols
    from grammars.protocol import Bitmask
    from grammars.pushdown.structural import StructuralStates
    from grammars.pushdown.tables import AutomatonTables
    from grammars.vocabulary import Vocabulary

_OPENING: Final = frozenset(b"[{")
_TOLD_BY_KEYS: Final = (Distinct.NOTHING, Distinct.ENDLESS_KEYS)


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
        self._plain_walk = ReferenceWalk(tables, states, vocabulary)
        self._walk = DistinctWalk(self._plain_walk, states, tables)
        self._reader = DistinctTokens(self._walk, tokens, vocabulary)
        self._states = states
        self._kinds: dict[int, Distinct] = {}
        self._token_bytes = vocabulary.token_bytes
        self._tokens = tokens
        self._key_tokens = vocabulary.derive(KeyTokens)
        self._steps = steps
        self._configurations = configurations
        self._is_plain = is_plain

    def step(self, configuration: Configuration, token_id: int) -> Configuration | None:
        """The configuration after a token, None where it is refused.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        if self._is_plain:
            if configuration.point is None and not self._may_open(token_id):
                return self._steps.after(configuration, token_id)
        elif configuration.point is None:
            hop = self._steps.hop(configuration.shared, token_id)
            if hop is None:
                return None
            if not self._needs_reading(configuration.keys, hop, token_id):
                return self._after_keys(configuration, hop, token_id)
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
        if configuration.keys is None:
            return self._reader.refused(self._point(configuration), words)
        return self._refused_by_keys(configuration, configuration.keys, words)

    def free_configurations(self, configuration: Configuration) -> list[tuple[int, Configuration]]:
        """Where a text that may still become an earlier one can leave them, and in how many bytes.

        The nearest ones; where the text is free already, itself.
        """
        nearest = None
        found: dict[PlainConfiguration, tuple[int, Configuration]] = {}
        for num_bytes, point in self._walk.nearest_free(self._point(configuration)):
            nearest = num_bytes if nearest is None else nearest
            if num_bytes > nearest:
                break
            if point.plain not in found:
                found[point.plain] = num_bytes, self._configuration(point)
        return list(found.values())

    def _may_open(self, token_id: int) -> bool:
        """Whether a token may open a frame of distinct texts."""
        return not _OPENING.isdisjoint(self._token_bytes.get(token_id, b""))

    def _kind_of(self, state: int) -> Distinct:
        kind = self._kinds.get(state)
        if kind is None:
            kind = self._kinds[state] = self._states.distinct_texts(state)
        return kind

    def _needs_reading(self, keys: KeyPoint | None, hop: Hop, token_id: int) -> bool:
        """Whether a token is more than keys can tell."""
        for fire in hop.fires:
            if fire.change > 0 and self._kind_of(fire.state) not in _TOLD_BY_KEYS:
                return True
        if b"\\" not in self._token_bytes.get(token_id, b""):
            return False
        return bool(hop.fires) or (keys is not None and keys.frames[-1].is_open)

    def _after_keys(
        self, configuration: Configuration, hop: Hop, token_id: int
    ) -> Configuration | None:
        """The configuration after a token of which keys tell all; None where it is refused."""
        keys = configuration.keys
        frames = () if keys is None else keys.frames
        scanned = OUTSIDE if keys is None else keys.scanned
        data = self._token_bytes.get(token_id, b"")
        after = frames_after(frames, configuration.depth, hop, data, self._kind_of)
        if after is None:
            return None
        if not after:
            return hop.configuration
        if not frames:
            data = data[self._first_opened(hop) :]
        return keyed(hop.configuration, after, scan_all(data, scanned))

    def _first_opened(self, hop: Hop) -> int:
        """How many symbols a token has before it opens an object whose keys must differ."""
        pushes = (fire for fire in hop.fires if fire.change > 0)
        return next(p.num_read for p in pushes if self._kind_of(p.state) is not Distinct.NOTHING)

    def _refused_by_keys(
        self, configuration: Configuration, keys: KeyPoint, words: Bitmask
    ) -> list[int]:
        """`refused` in objects whose keys must differ."""
        frame = keys.frames[-1]
        found: list[NDArray[np.int32]] = []
        if frame.is_open and frame.keys:
            found = self._key_tokens.ending(frame.text, frame.keys)
        refused = [token_id for ids in found for token_id in allowed_among(ids, words)]
        likely = [self._key_tokens.second]
        for frame in keys.frames:
            if frame.keys:
                likely += self._key_tokens.following(frame.keys)
        point = None
        for token_ids in likely:
            for token_id in allowed_among(token_ids, words) if len(token_ids) else ():
                point = self._point(configuration) if point is None else point
                if self._reader.read(point, token_id) is None:
                    refused.append(token_id)
        return refused

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

    def _configuration(self, point: DistinctPoint) -> Configuration:
        plain, below = point.plain, None
        for state in reversed(plain.below):
            below = self._configurations.frame(state, below)
        frames = None if self._is_plain else as_keys(point.frames)
        if not point.frames or frames is not None:
            shared = self._configurations.configuration(
                plain.state,
                plain.lexer,
                plain.counted,
                below,
                is_fresh=plain.is_fresh,
                is_complete=self._plain_walk.is_complete(plain),
            )
            return keyed(shared, frames, point.scanned) if frames else shared
        return Configuration(
            plain.state,
            plain.lexer,
            plain.counted,
            plain.is_fresh,
            False,  # the frames are still open
            below,
            np.array(plain.below[:WINDOW_SIZE], np.int64),
            point=point,
        )
