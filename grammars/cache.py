"""GrammarCache: compiled grammars by what was asked, bounded in bytes; each is compiled once."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from grammars.protocol import CompiledGrammar

if TYPE_CHECKING:
    from grammars.backends.base import GrammarBackend
    from grammars.spec import GrammarSpec
    from grammars.vocabulary import Vocabulary

_Key: TypeAlias = "tuple[GrammarSpec, str, str]"


_FOUND_PER_CHECK: Final = 16


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache has done since it was made, and what it holds.

    Args:
        hits: grammars that were there, or being compiled already.
        misses: grammars that were compiled, or refused.
        num_grammars: held now.
        memory_bytes: what they took when sizes were last taken.
    """

    hits: int = 0
    misses: int = 0
    num_grammars: int = 0
    memory_bytes: int = 0


class GrammarCache:
    """Thread-safe; a grammar is compiled by the first who asks, the others wait for it.

    Grammars grow while they are used, so sizes are taken anew whenever one is added, and every few
    times that one is found. A failed compile is not kept: all who waited for it get its error, the
    next one compiles again.

    Args:
        max_bytes: what all grammars together may take; the least recently used go first. The one
            just asked for stays, however large it is: its own limits bound it.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._grammars: dict[_Key, CompiledGrammar] = {}  # the least recently used first
        self._compiling: dict[_Key, Future[CompiledGrammar]] = {}
        self._num_found = 0
        self._num_missed = 0
        self._num_bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._grammars)

    @property
    def memory_bytes(self) -> int:
        """What the grammars take now."""
        with self._lock:
            return sum(grammar.memory_bytes for grammar in self._grammars.values())

    def stats(self) -> CacheStats:
        """The counts of this moment; cheap."""
        with self._lock:
            return CacheStats(
                self._num_found, self._num_missed, len(self._grammars), self._num_bytes
            )

    def get(
        self, spec: GrammarSpec, vocabulary: Vocabulary, backend: GrammarBackend
    ) -> CompiledGrammar:
        """The grammar of `spec`, compiled if need be.

        Raises:
            GrammarError: as `GrammarBackend.compile`.
        """
        key = (spec, vocabulary.digest, backend.name)
        with self._lock:
            grammar = self._grammars.pop(key, None)
            if grammar is not None:
                self._grammars[key] = grammar
                self._num_found += 1
                if self._num_found % _FOUND_PER_CHECK == 0:
                    self._make_room()
                return grammar
            running = self._compiling.get(key)
            if running is None:
                self._num_missed += 1
                mine = self._compiling[key] = Future[CompiledGrammar]()
            else:
                self._num_found += 1
        if running is not None:
            return running.result()
        try:
            grammar = backend.compile(spec, vocabulary)
        except BaseException as error:
            with self._lock:
                del self._compiling[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._compiling[key]
            self._grammars[key] = grammar
            self._make_room()
        mine.set_result(grammar)
        return grammar

    def _make_room(self) -> None:
        num_bytes = sum(kept.memory_bytes for kept in self._grammars.values())
        for oldest in list(self._grammars)[:-1]:
            if num_bytes <= self._max_bytes:
                break
            num_bytes -= self._grammars.pop(oldest).memory_bytes
        self._num_bytes = num_bytes
