"""Warm-up: afterwards no request waits for a compiler."""

from __future__ import annotations

import numba

from grammars.automata.compiling import kernels_announced
from grammars.compile import compile_grammar
from grammars.masks import (
    content_tokens,
    runner,
    safe_runs,
    slice_sources,
    slices,
    subtrees,
    token_sorting,
    trie,
)
from grammars.masks.warmup import warm_up
from grammars.spec import JsonObject, JsonSchema
from tests.support.tokenizers import tiny_vocabulary

KERNELS = {
    name: value
    for module in (
        content_tokens,
        runner,
        safe_runs,
        slice_sources,
        slices,
        subtrees,
        token_sorting,
        trie,
    )
    for name, value in vars(module).items()
    if hasattr(value, "signatures")
}
ENTRIES = (
    "_extends",
    "_find_usual",
    "_preorder",
    "_reach",
    "_runs",
    "_set_bits",
    "_summarise",
    "_usual_groups",
    "ends",
    "force",
    "sort_by_content",
    "sort_strings",
    "sort_tokens",
    "step",
    "walk",
)
"""The kernels that Python calls."""


def compiled_kernels() -> dict[str, int]:
    return {name: len(each.signatures) for name, each in KERNELS.items() if each.signatures}


def test_warm_up_compiles_every_kernel_for_the_types_that_requests_use():
    warm_up(tiny_vocabulary())
    warm = compiled_kernels()
    matcher = compile_grammar(JsonObject(), tiny_vocabulary()).matcher()
    for byte in b'{"a": [1, "b"]}':
        matcher.forced_tokens()
        assert byte in matcher.allowed_token_ids()
        assert matcher.accept_token(byte)
    assert matcher.is_terminated
    assert compiled_kernels() == warm
    # At a first start on a machine their helpers are compiled one by one, and are there too.
    assert {name: warm.get(name) for name in ENTRIES} == dict.fromkeys(ENTRIES, 1)


def test_what_belongs_to_a_vocabulary_is_built_before_the_first_text_whose_keys_must_differ(
    monkeypatch,
):
    vocabulary = tiny_vocabulary('{"', '":', '", "', "[1")
    derive, built = vocabulary.derive, set()

    def noted(build):
        built.add(build)
        return derive(build)

    monkeypatch.setattr(vocabulary, "derive", noted)
    warm_up(vocabulary)
    warm = set(built)
    spec = JsonSchema('{"additionalProperties": {"uniqueItems": true}}', property_order="any")
    matcher = compile_grammar(spec, vocabulary).matcher()
    for byte in b'{"a": [1, 12, "b"], "c": {"d": 1}}':
        assert byte in matcher.allowed_token_ids()
        assert matcher.accept_token(byte)
        assert matcher.min_tokens_to_complete() >= 0
    assert built == warm


def test_kernels_that_are_compiled_are_announced_by_name_and_their_helpers_are_not():
    @numba.njit
    def helper(value):
        return value + 1

    @numba.njit
    def outer(value):
        return helper(value) * 2

    announced: list[str] = []
    with kernels_announced(announced.append):
        assert outer(1) == 4
        assert outer(2) == 6
    assert announced == ["outer"]
    assert outer(1.5) == 5.0
    assert announced == ["outer"]
