"""MaskCache: mask rows by what they depend on: the top of the stack and the frames seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from grammars.masks.configuration import Frame
    from grammars.masks.rows import MaskRow

TopKey: TypeAlias = tuple[int, int, int, bool]
"""(structural state, lexer state, clipped count, whether the text is complete)."""

_LOOK_DEEPER: Final = None
"""Entry of a key under which the next frame decides."""


class MaskCache:
    """Rows by the frames that made them: those seen so far decide whether a walk looks at the next.

    The entry of (top, frame 1, ..., frame n) is a row, or says that frame n + 1 was looked at too.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[object, ...], MaskRow | None] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, top: TopKey, below: Frame | None) -> MaskRow | None:
        """The row for a top on a stack, None where it is not known."""
        key: tuple[object, ...] = top
        while key in self._entries:
            row = self._entries[key]
            if row is not _LOOK_DEEPER:
                return row
            assert below is not None
            key = (*key, below.state)
            below = below.below
        return None

    def store(self, top: TopKey, below: Frame | None, num_frames_seen: int, row: MaskRow) -> None:
        """Keep the row of a top on a stack of which so many frames were looked at."""
        key: tuple[object, ...] = top
        for _ in range(num_frames_seen):
            assert below is not None
            self._entries[key] = _LOOK_DEEPER
            key = (*key, below.state)
            below = below.below
        self._entries[key] = row

    def clear(self) -> None:
        """Forget all rows."""
        self._entries.clear()
