"""KeyTokens: which tokens of a vocabulary can end a given key of an object."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from grammars.masks.key_frames import KeyFrame
    from grammars.vocabulary import Vocabulary

_KEY: Final = rb'"(?:[^"\\]|\\.)*"'
_WHOLE: Final = re.compile(rb",? ?(" + _KEY + rb")", re.DOTALL)
_FOLLOWING: Final = re.compile(rb"(?=, ?(" + _KEY + rb"))", re.DOTALL)
_SECOND: Final = re.compile(rb'":.*, ?' + _KEY, re.DOTALL)


class KeyTokens:
    """Finds tokens by what they write of a key; use it through `Vocabulary.derive`.

    A key is told as a JSON string, with its quotes.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        ending: dict[bytes, list[int]] = {}
        following: dict[bytes, list[int]] = {}
        second = []
        for token_id, data in vocabulary.token_bytes.items():
            if b'"' not in data:
                continue
            for quote in re.finditer(b'"', data):
                ending.setdefault(data[: quote.end()], []).append(token_id)
            for match in _FOLLOWING.finditer(data):
                following.setdefault(match[1], []).append(token_id)
            if _SECOND.search(data):
                second.append(token_id)
        self._ending = _arrays(ending.items())
        self._following = _arrays(following.items())
        whole: dict[bytes, list[int]] = {}
        for text, token_ids in ending.items():
            key = _WHOLE.fullmatch(text)
            if key is not None:
                whole.setdefault(key[1], []).extend(token_ids)
        self._whole = _arrays(whole.items())
        self._second = [np.array(second, np.int32)] if second else []

    def ending(self, written: bytes, keys: frozenset[bytes]) -> list[NDArray[np.int32]]:
        """The tokens that go on from the beginning of a key to the end of one of some keys.

        Args:
            written: of the key; where it is empty, the comma before it may be missing too.
            keys: those that must not be written.
        """
        if not keys:
            return []
        if not written:
            return [self._whole[key] for key in self._whole if key in keys]
        if len(keys) > len(self._ending):
            return [self._ending[rest] for rest in self._ending if written + rest in keys]
        rests = [key[len(written) :] for key in keys if key.startswith(written)]
        return [self._ending[rest] for rest in rests if rest in self._ending]

    def following(self, frames: Iterable[KeyFrame]) -> list[NDArray[np.int32]]:
        """The tokens that may write a key whole, after a comma, which some object has already.

        So may those that end one key and write another.
        """
        found = list(self._second)
        if self._following:
            for frame in frames:
                found += [self._following[key] for key in self._following if key in frame.keys]
        return found


def _arrays(
    token_ids: Iterable[tuple[bytes, list[int]]],
) -> Mapping[bytes, NDArray[np.int32]]:
    return {text: np.array(found, np.int32) for text, found in token_ids}
