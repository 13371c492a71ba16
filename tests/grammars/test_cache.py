"""The grammar cache: each grammar is compiled once, and what is kept is bounded."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from grammars.cache import CacheStats, GrammarCache
from grammars.errors import InvalidGrammarError
from grammars.spec import Choice
from tests.support.byte_vocabulary import byte_vocabulary

if TYPE_CHECKING:
    from grammars.protocol import CompiledGrammar, GrammarMatcher
    from grammars.spec import GrammarSpec
    from grammars.vocabulary import Vocabulary


@dataclass
class SizedGrammar:
    memory_bytes: int = 100

    def matcher(self) -> GrammarMatcher:
        raise NotImplementedError


@dataclass
class CountingBackend:
    """Compiles to grammars of 100 bytes; waits for `may_finish` before it does."""

    name: str = "counting"
    compiled: list[GrammarSpec] = field(default_factory=list)
    has_begun: threading.Event = field(default_factory=threading.Event)
    may_finish: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.may_finish.set()

    def compile(self, spec: GrammarSpec, vocabulary: Vocabulary) -> CompiledGrammar:
        self.compiled.append(spec)
        self.has_begun.set()
        assert self.may_finish.wait(timeout=60)
        if spec == Choice(("bad",)):
            raise InvalidGrammarError("a bad spec")
        return SizedGrammar()


A, B, C = Choice(("a",)), Choice(("b",)), Choice(("c",))


def test_a_grammar_is_compiled_once_for_a_spec_a_vocabulary_and_a_backend():
    cache, backend, other = GrammarCache(1000), CountingBackend(), CountingBackend("other")
    vocabulary = byte_vocabulary()
    grammar = cache.get(A, vocabulary, backend)
    assert cache.get(Choice(("a",)), vocabulary, backend) is grammar
    assert cache.get(B, vocabulary, backend) is not grammar
    assert cache.get(A, byte_vocabulary(("<x>",)), backend) is not grammar
    assert cache.get(A, vocabulary, other) is not grammar
    assert backend.compiled == [A, B, A]
    assert other.compiled == [A]


def test_b072_the_least_recently_used_goes_first():
    cache, backend, vocabulary = GrammarCache(250), CountingBackend(), byte_vocabulary()
    for spec in (A, B, A, C):
        cache.get(spec, vocabulary, backend)
    assert cache.memory_bytes == 200
    backend.compiled.clear()
    for spec in (A, C, B):
        cache.get(spec, vocabulary, backend)
    assert backend.compiled == [B]


def test_grammars_that_have_grown_count_with_their_new_size():
    cache, backend, vocabulary = GrammarCache(250), CountingBackend(), byte_vocabulary()
    grown = cache.get(A, vocabulary, backend)
    assert isinstance(grown, SizedGrammar)
    grown.memory_bytes = 200
    cache.get(B, vocabulary, backend)
    assert cache.memory_bytes == 100


def test_grammars_that_have_grown_are_noticed_though_no_other_is_compiled():
    cache, backend, vocabulary = GrammarCache(250), CountingBackend(), byte_vocabulary()
    grown = cache.get(A, vocabulary, backend)
    assert isinstance(grown, SizedGrammar)
    cache.get(B, vocabulary, backend)
    grown.memory_bytes = 200
    for _ in range(20):
        cache.get(B, vocabulary, backend)
    assert cache.memory_bytes == 100


def test_a_grammar_larger_than_the_cache_is_kept_until_the_next():
    cache, backend, vocabulary = GrammarCache(50), CountingBackend(), byte_vocabulary()
    assert cache.get(A, vocabulary, backend) is cache.get(A, vocabulary, backend)
    cache.get(B, vocabulary, backend)
    assert len(cache) == 1


@pytest.mark.parametrize("spec", [A, Choice(("bad",))])
def test_requests_at_the_same_time_compile_once(spec):
    cache, backend, vocabulary = GrammarCache(1000), CountingBackend(), byte_vocabulary()
    backend.may_finish.clear()
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(cache.get(spec, vocabulary, backend))
        except InvalidGrammarError as error:
            answers.append(error)

    threads = [threading.Thread(target=ask) for _ in range(5)]
    threads[0].start()
    assert backend.has_begun.wait(timeout=60)
    for thread in threads[1:]:
        thread.start()
    assert len(backend.compiled) == 1
    backend.may_finish.set()
    for thread in threads:
        thread.join(timeout=60)
    assert len(answers) == 5
    if spec is A:  # one that asks after a failure compiles again
        assert len(backend.compiled) == 1
        assert len({id(answer) for answer in answers}) == 1
    else:
        assert all(isinstance(answer, InvalidGrammarError) for answer in answers)


def test_a_failed_compile_is_tried_again():
    cache, backend, vocabulary = GrammarCache(1000), CountingBackend(), byte_vocabulary()
    for _ in range(2):
        with pytest.raises(InvalidGrammarError, match="a bad spec"):
            cache.get(Choice(("bad",)), vocabulary, backend)
    assert len(backend.compiled) == 2
    assert len(cache) == 0


def test_what_it_found_compiled_and_holds_is_counted():
    cache, backend = GrammarCache(250), CountingBackend()
    for spec in (A, A, B, C, A):
        cache.get(spec, byte_vocabulary(), backend)
    with pytest.raises(InvalidGrammarError):
        cache.get(Choice(("bad",)), byte_vocabulary(), backend)
    assert cache.stats() == CacheStats(hits=1, misses=5, num_grammars=2, memory_bytes=200)
