"""Memory stays flat: thousands of different schemas, hundreds of clients that go."""

from __future__ import annotations

import gc
import tracemalloc

import httpx
import pytest

from grammars.backends.base import get_backend
from grammars.cache import GrammarCache
from grammars.pushdown import lexers, member_lexers, templates
from grammars.spec import JsonSchema
from server.admitted_chat import AdmittedChat
from server.generation import Generation
from server.reply.choice import ChoiceReply
from tests.hostile.conftest import CHAT, ORDINARY
from tests.support.chat_server import make_services, running
from tests.support.tokenizers import tiny_vocabulary

BUDGET_BYTES = 2 * 2**20
MAX_GROWTH_BYTES = 4 * 2**20
"""While the cache is full; a kilobyte kept of each would be 5 MB of 5,000."""


MAX_UNCOUNTED = 1.5
"""What the lexers that grammars share may take for each byte that is counted of them."""


def shared_bytes() -> int:
    """Of what grammars share, in caches with bounds of their own (112 MiB together)."""
    return sum(module._cache.num_bytes for module in (lexers, member_lexers, templates))


def schema(number: int) -> JsonSchema:
    return JsonSchema(
        f'{{"type": "object", "properties": {{"k{number}": {{"type": "integer"}}, "text{number}": '
        f'{{"type": "string", "pattern": "^x{number}+$"}}}}, "required": ["k{number}"], '
        '"additionalProperties": false}'
    )


@pytest.mark.parametrize("count", [300, pytest.param(5000, marks=pytest.mark.hostile)])
def test_different_schemas_keep_to_the_budget_of_the_cache(count):
    vocabulary, backend = tiny_vocabulary(), get_backend("tightrope")
    cache = GrammarCache(BUDGET_BYTES)

    def compile_one(number: int) -> None:
        matcher = cache.get(schema(number), vocabulary, backend).matcher()
        for token_id in vocabulary.encode(f'{{"k{number}":1'.encode()):
            assert matcher.accept_token(token_id)

    num_first = count // 3
    for number in range(num_first):
        compile_one(number)
    gc.collect()
    shared_before = shared_bytes()
    tracemalloc.start()
    try:
        for number in range(num_first, count):
            compile_one(number)
        gc.collect()
        # The cache was full before, so what came replaced what went, which was not traced.
        growth, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    largest = cache.get(schema(0), vocabulary, backend).memory_bytes
    assert cache.memory_bytes <= BUDGET_BYTES + largest
    growth_shared = MAX_UNCOUNTED * (shared_bytes() - shared_before)
    assert growth <= cache.memory_bytes + growth_shared + MAX_GROWTH_BYTES


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.hostile)])
def test_of_cancelled_streams_nothing_is_left(count):
    services = make_services(None, pause_after=2)
    with running(services) as url, httpx.Client(base_url=url, timeout=30) as http:
        for _ in range(count):
            with http.stream("POST", CHAT, json=ORDINARY | {"stream": True}) as answer:
                next(answer.iter_lines())
        services.engine.requests.clear()
        while services.engine.num_running:
            pass
        http.get("/health")
        gc.collect()
        left = [type(one) for one in gc.get_objects() if type(one) in KINDS]
    assert len(services.engine.aborted) == count
    assert len(left) <= 3, left


KINDS = (Generation, AdmittedChat, ChoiceReply)
"""At most one of each may be on its way out."""
