"""Configuration: where one text is in the automaton, shared by all texts that are there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grammars.masks.distinct_point import DistinctPoint
    from grammars.masks.hops import Hop
    from grammars.masks.key_frames import KeyPoint
    from grammars.masks.rows import MaskRow

WINDOW_SIZE: Final = 8
"""Frames that a kernel is given at first; few tokens pop more than three."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A structural state below the top, and the frame below it (None at the bottom)."""

    state: int
    below: Frame | None = field(repr=False)
    depth: int

    def states(self, most: int | None = None) -> tuple[int, ...]:
        """The states of this frame and those below, the nearest first, at most `most`."""
        states: list[int] = []
        frame: Frame | None = self
        while frame is not None and len(states) != most:
            states.append(frame.state)
            frame = frame.below
        return tuple(states)

    def window(self, size: int) -> NDArray[np.int64]:
        """The first `size` states as the kernels take them: int64, (size or fewer,)."""
        return np.array(self.states(size), np.int64)


@dataclass(slots=True, eq=False)
class Configuration:
    """A stack, a lexer state and a character count; with what has been found out about them.

    Args:
        state: the structural state on top.
        lexer: the global lexer state.
        counted: characters counted so far.
        is_fresh: whether the lexer has read nothing yet.
        is_complete: whether the text may end here.
        below: the frames below the top.
        window: the states of the nearest frames, see `Frame.window`.
        mask: the tokens allowed next, once they were asked for.
        forced: the tokens that must come next, once they were asked for.
        num_to_complete: tokens that complete the text, once they were asked for.
        num_falls: how often costs had fallen then, see `Completion`: the number may be less now.
        most_to_complete: the same after the token that is worst for it.
        keys: the keys of open objects that must differ, while there are such.
        point: where the text is among earlier texts that it must differ from, while keys alone do
            not tell. With either of them a configuration belongs to one text, and is not shared.
        following: token id -> configuration after it, for tokens that were accepted here before.
        hops: token id -> where the automaton goes with it; only where texts must differ.
    """

    state: int
    lexer: int
    counted: int
    is_fresh: bool
    is_complete: bool
    below: Frame | None
    window: NDArray[np.int64]
    mask: MaskRow | None = field(default=None, repr=False)
    forced: tuple[int, ...] | None = None
    num_to_complete: int | None = None
    num_falls: int = 0
    most_to_complete: int | None = None
    keys: KeyPoint | None = field(default=None, repr=False)
    point: DistinctPoint | None = field(default=None, repr=False)
    following: dict[int, Configuration] = field(default_factory=dict, repr=False)
    hops: dict[int, Hop] = field(default_factory=dict, repr=False)

    @property
    def depth(self) -> int:
        """How many frames are below the top."""
        return 0 if self.below is None else self.below.depth

    @property
    def shared(self) -> Configuration:
        """Where the automaton is, without what one text has written."""
        return self if self.keys is None else self.keys.shared

    @property
    def plain(self) -> Configuration:
        """Where the automaton is, new and unknown."""
        return Configuration(
            self.state,
            self.lexer,
            self.counted,
            self.is_fresh,
            self.is_complete,
            self.below,
            self.window,
        )

    @property
    def is_shared(self) -> bool:
        """Whether all texts that are here may share it."""
        return self.keys is None and self.point is None


class ConfigurationTable:
    """Makes each configuration once; bounded, since it can be forgotten at any time.

    Texts that are in a forgotten configuration keep it; only the sharing is lost.
    """

    def __init__(self) -> None:
        self._frames: dict[tuple[int, Frame | None], Frame] = {}
        self._configurations: dict[tuple[int, int, int, bool, Frame | None], Configuration] = {}
        self._windows: dict[Frame | None, NDArray[np.int64]] = {}

    def __len__(self) -> int:
        return len(self._configurations)

    def frame(self, state: int, below: Frame | None) -> Frame:
        """The frame of `state` on `below`."""
        key = (state, below)
        found = self._frames.get(key)
        if found is None:
            depth = 1 if below is None else below.depth + 1
            found = self._frames[key] = Frame(state, below, depth)
        return found

    def configuration(
        self,
        state: int,
        lexer: int,
        counted: int,
        below: Frame | None,
        *,
        is_fresh: bool,
        is_complete: bool,
    ) -> Configuration:
        """The configuration of these parts."""
        key = (state, lexer, counted, is_fresh, below)
        found = self._configurations.get(key)
        if found is None:
            found = Configuration(
                state, lexer, counted, is_fresh, is_complete, below, self._window(below)
            )
            self._configurations[key] = found
        return found

    def __del__(self) -> None:
        """Texts come back to where they were: nobody else would take these circles apart."""
        self.clear()

    def clear(self) -> None:
        """Forget everything, also what the configurations know of each other."""
        for configuration in self._configurations.values():
            configuration.following.clear()
            configuration.hops.clear()
            configuration.mask = None
        self._frames.clear()
        self._configurations.clear()
        self._windows.clear()

    def _window(self, below: Frame | None) -> NDArray[np.int64]:
        found = self._windows.get(below)
        if found is None:
            found = np.zeros(0, np.int64) if below is None else below.window(WINDOW_SIZE)
            self._windows[below] = found
        return found
