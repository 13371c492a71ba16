"""Hops: where tokens lead where texts must differ, with all that depends on no text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from grammars.pushdown.distinct import Distinct

if TYPE_CHECKING:
    from grammars.masks.configuration import Configuration
    from grammars.masks.steps import Steps
    from grammars.pushdown.structural import StructuralStates
    from grammars.vocabulary import Vocabulary

_TOLD_BY_KEYS: Final = (Distinct.NOTHING, Distinct.ENDLESS_KEYS)


class Fire(NamedTuple):
    """A label that fired while a token was read.

    Attributes:
        num_read: symbols of the token before it.
        change: frames that it pushed; -1 where it popped one.
        opened: what must differ in the frame that it pushed.
    """

    num_read: int
    change: int
    opened: Distinct


class Hop(NamedTuple):
    """Where a token leads from a shared configuration.

    Attributes:
        configuration: the one after it, as the automaton alone has it.
        data: the bytes of the token; none of a control token.
        fires: what fired on the way, in order.
        is_told_by_keys: whether keys alone tell what it may repeat: no frame of other distinct
            texts is opened, and no escape may be part of a key.
    """

    configuration: Configuration
    data: bytes
    fires: tuple[Fire, ...]
    is_told_by_keys: bool

    @property
    def num_before_keys(self) -> int:
        """Bytes before the first object that it opens and whose keys must differ."""
        return next(f.num_read for f in self.fires if f.opened is Distinct.ENDLESS_KEYS)


class Hops:
    """Finds hops, each once; all methods need `AutomatonTables.lock`.

    Args:
        steps: by the automaton alone.
        states: where texts must differ.
        vocabulary: the tokens.
    """

    def __init__(self, steps: Steps, states: StructuralStates, vocabulary: Vocabulary) -> None:
        self._steps = steps
        self._states = states
        self._token_bytes = vocabulary.token_bytes
        self._kinds: dict[int, Distinct] = {}
        self._num_known = 0

    def __len__(self) -> int:
        return self._num_known

    def find(self, configuration: Configuration, token_id: int) -> Hop | None:
        """The hop from a shared configuration; None where the automaton refuses the token.

        Raises:
            GrammarError: the automaton cannot grow within its limits.
        """
        hop = configuration.hops.get(token_id)
        if hop is None:
            following = self._steps.after(configuration, token_id)
            if following is None:
                return None
            hop = configuration.hops[token_id] = self._make(following, token_id)
            self._num_known += 1
        return hop

    def forgotten(self) -> None:
        """Told when the configurations have forgotten their hops."""
        self._num_known = 0

    def _make(self, following: Configuration, token_id: int) -> Hop:
        data = self._token_bytes.get(token_id, b"")
        fires = tuple(
            Fire(num_read, change, self._kind_of(state) if change > 0 else Distinct.NOTHING)
            for num_read, change, state in self._steps.fired()
        )
        is_told = all(fire.opened in _TOLD_BY_KEYS for fire in fires)
        return Hop(following, data, fires, is_told and not (fires and b"\\" in data))

    def _kind_of(self, state: int) -> Distinct:
        kind = self._kinds.get(state)
        if kind is None:
            kind = self._kinds[state] = self._states.distinct_texts(state)
        return kind
