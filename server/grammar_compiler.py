"""Compiler: what the routes need to compile constraints; GrammarCompiler does it in threads."""

from __future__ import annotations

import asyncio
import copy
import hashlib
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Protocol

from engine.pacing import Pacer
from engine.thread_priority import give_way
from grammars.cache import CacheStats
from grammars.errors import BackendError, GrammarError
from server.errors import OverloadedError
from server.grammar_warmer import GrammarWarmer
from server.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.constraint import Constraint, TokenAutomaton
    from grammars.cache import GrammarCache
    from grammars.protocol import CompiledGrammar
    from grammars.spec import GrammarSpec
    from server.device_automata import DeviceAutomata


_MAX_REFUSALS: Final = 1024
"""Refused specs that are remembered, by their digests."""

_MAX_REFUSAL_CHARS: Final = 4_000
"""Of a refusal that is remembered; those that quote more of their spec would fill the memory."""


class ServedGrammar(Protocol):
    """A compiled grammar, wherever it lives."""

    def matcher(self) -> Constraint:
        """A new constraint at the start of the text, for one engine request."""
        ...


class Compiler(Protocol):
    """Compiles constraints off the event loop."""

    async def compile(
        self, spec: GrammarSpec, *, caller: bytes = b"", closes: bool = False
    ) -> ServedGrammar:
        """Compile a spec. Cancelling takes it out of the queue; a running one ends by its budget.

        Args:
            spec: what is asked for.
            caller: who asks, by the salt of cached prompts; callers take turns.
            closes: whether texts will have to close in time. The fewest tokens of a whole text are
                then found out here, which visits every state of a large schema.

        Raises:
            GrammarError: the spec is refused.
            OverloadedError: too many compiles are waiting.
            UnavailableError: the compiler is gone for the moment.
        """
        ...

    def automaton(self, grammar: ServedGrammar) -> TokenAutomaton | None:
        """The grammar as tables, where an engine in this process follows them and they are made."""
        ...

    def cache_stats(self) -> CacheStats:
        """What the cache of compiled grammars has done, as far as it is known here."""
        ...

    def close(self) -> None:
        """End it; compiles that wait are dropped."""
        ...


def fewest_tokens(grammar: CompiledGrammar) -> int | None:
    """Of a whole text; None where the backend of the grammar cannot close texts."""
    try:
        return grammar.matcher().min_tokens_to_complete()
    except BackendError:
        return None


def _num_chars(error: GrammarError) -> int:
    """About what a refusal takes."""
    return sum(len(str(field)) for field in (error, *vars(error).values()))


class GrammarCompiler:
    """A small pool of threads in front of a blocking compile, in which callers take turns.

    What was refused is remembered for a while, so that it does not use up its budget each time that
    it is sent again.

    Args:
        compile_spec: compiles or finds in a cache; thread-safe.
        max_concurrent: compiles at the same time.
        max_waiting: compiles that may wait for a thread; beyond it requests are shed.
        warm_actions: of each grammar, expanded ahead of its texts in another thread; 0 for none.
        cache: what `compile_spec` looks into, to be asked for its counts; None: there is none.
        automata: of finite grammars, for a device that follows them; None: there is none.
        pacer: says when to work; None: always.
    """

    def __init__(
        self,
        compile_spec: Callable[[GrammarSpec], CompiledGrammar],
        *,
        max_concurrent: int,
        max_waiting: int,
        warm_actions: int = 0,
        cache: GrammarCache | None = None,
        automata: DeviceAutomata | None = None,
        pacer: Pacer | None = None,
    ) -> None:
        self._pacer = pacer or Pacer(lambda: False)
        self._cache = cache
        self._automata = automata
        self._compile_spec = compile_spec
        self._threads = ThreadPoolExecutor(
            max_concurrent, thread_name_prefix="grammar-compiler", initializer=give_way
        )
        self._turns = Turns(max_concurrent)
        self._max_pending = max_concurrent + max_waiting
        self._num_pending = 0
        self._warmer = GrammarWarmer(warm_actions, self._pacer, automata)
        self._refusals: OrderedDict[bytes, GrammarError] = OrderedDict()  # the oldest first

    async def compile(
        self, spec: GrammarSpec, *, caller: bytes = b"", closes: bool = False
    ) -> CompiledGrammar:
        """Compile a spec. Cancelling takes it out of the queue; a running one ends by its budget.

        Raises:
            GrammarError: the spec is refused.
            OverloadedError: too many compiles are waiting.
        """
        if self._num_pending >= self._max_pending:
            raise OverloadedError("Too many constraints are being compiled; try again later")
        self._num_pending += 1
        self._warmer.hold()
        try:
            async with self._turns.turn(caller):
                loop = asyncio.get_running_loop()
                grammar = await loop.run_in_executor(self._threads, self._compile, spec, closes)
        finally:
            self._num_pending -= 1
            if self._num_pending == 0:
                self._warmer.release()
        self._warmer.warm(grammar)
        return grammar

    def _compile(self, spec: GrammarSpec, closes: bool) -> CompiledGrammar:
        """In a thread of the pool."""
        digest = hashlib.sha256(repr(spec).encode(errors="surrogatepass")).digest()
        refusal = self._refusals.get(digest)
        if refusal is not None:
            raise copy.copy(refusal)
        try:
            with self._pacer.paced():
                grammar = self._compile_spec(spec)
        except GrammarError as error:
            if _num_chars(error) <= _MAX_REFUSAL_CHARS:
                self._refusals[digest] = copy.copy(error)
            while len(self._refusals) > _MAX_REFUSALS:
                self._refusals.popitem(last=False)
            raise
        if closes:
            with self._pacer.paced():
                fewest_tokens(grammar)  # the grammar keeps what it found
        return grammar

    def automaton(self, grammar: ServedGrammar) -> TokenAutomaton | None:
        """The grammar as tables, where the engine follows them and they are made."""
        return None if self._automata is None else self._automata.find(grammar)

    def cache_stats(self) -> CacheStats:
        """What the cache of compiled grammars has done."""
        return CacheStats() if self._cache is None else self._cache.stats()

    def close(self) -> None:
        """End the threads; compiles that wait are dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._warmer.close()
