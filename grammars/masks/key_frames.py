"""KeyFrame: the keys of an object that is being written, where no key may come twice.

It says what a `DistinctFrame` does in fewer steps, for keys of which there are always more (see
`Distinct.ENDLESS_KEYS`): the only step that may be refused is the one that ends an earlier key.
Keys with escapes, whose digits may be written in two ways, are left to the plain walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from grammars.masks.configuration import Configuration
from grammars.masks.distinct_point import DistinctFrame, seen_after
from grammars.pushdown.distinct import Distinct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grammars.masks.hops import Hop

_NOTHING: Final[dict[int, Any]] = {}
"""What configurations that are not shared know of others; it stays empty."""


class KeyFrame(NamedTuple):
    """An open object.

    Attributes:
        depth: frames below it on the stack.
        keys: those that are written, as JSON strings.
        is_open: whether a key is being written, or about to be.
        text: of that key, with what follows it.
    """

    depth: int
    keys: frozenset[bytes] = frozenset()
    is_open: bool = True
    text: bytes = b""

    def fed(self, data: bytes) -> KeyFrame:
        """The frame after more of the text of its object."""
        text = self.text + data if self.text else data.lstrip(b", ")
        return KeyFrame(self.depth, self.keys, self.is_open, text)

    def turned(self) -> KeyFrame | None:
        """The frame after its state has changed; None where that ended an earlier key again."""
        if not self.is_open:
            return KeyFrame(self.depth, self.keys)
        if self.is_repeat:
            return None
        return KeyFrame(self.depth, self.keys | {self._key}, is_open=False)

    @property
    def is_repeat(self) -> bool:
        """Whether the text is an earlier key, and perhaps what follows it."""
        return self._key in self.keys

    @property
    def _key(self) -> bytes:
        return self.text.rstrip(b": ")


class KeyPoint(NamedTuple):
    """Where a text is in objects whose keys must differ.

    Attributes:
        shared: where the automaton is, which other texts share.
        frames: the objects, the outermost first; at least one.
        scanned: where the JSON scanner is.
    """

    shared: Configuration
    frames: tuple[KeyFrame, ...]
    scanned: int


def frames_after(frames: tuple[KeyFrame, ...], depth: int, hop: Hop) -> tuple[KeyFrame, ...] | None:
    """The frames after a token of which keys tell all; None where it ends an earlier key.

    Args:
        frames: those before it.
        depth: frames on the automaton's stack before it.
        hop: where the token leads.
    """
    data = hop.data
    if not hop.fires:
        return _fed(frames, data)
    found = list(frames)
    read = 0
    for num_read, change, opened in hop.fires:
        depth += change
        if found and found[-1].is_open:
            found[-1] = found[-1].fed(data[read:num_read])
        read = num_read
        if change > 0:
            if opened is Distinct.ENDLESS_KEYS:
                found.append(KeyFrame(depth))
            continue
        if found and found[-1].depth > depth:
            found.pop()
        if found and found[-1].depth == depth:
            turned = found[-1].turned()
            if turned is None:
                return None
            found[-1] = turned
    return _fed(tuple(found), data[read:])


def _fed(frames: tuple[KeyFrame, ...], data: bytes) -> tuple[KeyFrame, ...] | None:
    """The frames after bytes with which nothing fires; None where they end an earlier key."""
    if not data or not frames or not frames[-1].is_open:
        return frames
    frame = frames[-1].fed(data)
    return None if frame.is_repeat else (*frames[:-1], frame)


def keyed(shared: Configuration, frames: tuple[KeyFrame, ...], scanned: int) -> Configuration:
    """The configuration of one text in objects whose keys must differ."""
    return Configuration(
        shared.state,
        shared.lexer,
        shared.counted,
        shared.is_fresh,
        shared.is_complete,
        shared.below,
        shared.window,
        keys=KeyPoint(shared, frames, scanned),
        following=_NOTHING,
        hops=_NOTHING,
    )


def as_distinct(frame: KeyFrame) -> DistinctFrame:
    """The same frame for a `DistinctWalk`."""
    seen = None
    for key in frame.keys:
        seen = seen_after(seen, key + b":", is_key=True)
    found = DistinctFrame(frame.depth, has_keys=True, seen=seen, is_open=False, is_endless=True)
    if frame.is_open:
        found = found.opened()
        for byte in frame.text:
            found = found.fed(byte)
    return found.sealed()


def as_keys(frames: Iterable[DistinctFrame]) -> tuple[KeyFrame, ...] | None:
    """The same frames as keys; None where keys do not tell all."""
    found = []
    for frame in frames:
        keys: set[bytes] = set()
        seen = frame.seen
        while frame.is_endless and seen is not None:
            keys.update(cursor.text[:-1] for cursor in seen.beginnings)
            seen = seen.before
        text = frame.written if frame.is_open else b""
        if not frame.is_endless or any(b"\\" in written for written in (text, *keys)):
            return None
        found.append(KeyFrame(frame.depth, frozenset(keys), frame.is_open, text))
    return tuple(found)
